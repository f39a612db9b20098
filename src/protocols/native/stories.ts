import type { Libraries } from '../../core/owner.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { FileFull } from '../../store/atomic-file.ts';
import { isSlot, type SaveSlots, StoryTooLong } from '../../store/save-slots.ts';
import type { SharedStory, StoryTurn } from '../../store/shared-story.ts';
import { read, write } from '../access.ts';
import type { DialectContext } from '../dialect.ts';
import { endpointRow, jsonText, type ModelEndpoint, type PlainEndpoint } from '../endpoint.ts';
import { described, honoured, isAbsent, looseFlag, optionalText, orElse, readText, textOrNumber } from '../fields.ts';
import { failed, nativeDialect, readInput } from './errors.ts';

export interface StoryContext {
  /** With `--savedatafile` only. */
  readonly slots?: Libraries<SaveSlots> | undefined;
  /** With `--multiplayer` only, for all keys: the flag is there to write together. */
  readonly story?: SharedStory | undefined;
  readonly warn: (sentence: string) => void;
}

type Warn = StoryContext['warn'];
type TextContext = Pick<DialectContext, 'text'>;

const slot = honoured(described({ type: ['integer', 'string'] }, slotNumber), 'The number of the slot, from 0.');
const loadFields = { slot };

const saveFields = {
  slot,
  title: honoured(orElse(readText, '')),
  format: honoured(orElse(readText, '')),
  data: honoured(optionalText, 'The story; an empty text erases the slot.'),
};

const row = endpointRow(write('text'), { method: 'POST', recorded: false, dialect: nativeDialect });

/** Stories that clients save on the server. Without `--savedatafile` the replies have the same shape. */
export function saveSlotEndpoints({ slots, warn }: StoryContext): PlainEndpoint[] {
  const warnOnce = unlessRepeated(warn);
  return [
    row(
      '/api/extra/data/list',
      'The titles of the stories that are saved on the server, by slot (--savedatafile).',
      async (call) => json((await slots?.of(call).titles()) ?? []),
      { ...read('text'), response: 'saveSlots' },
    ),
    row('/api/extra/data/load', 'The story in a slot.', (call) => load(call, slots?.of(call)), {
      ...read('text'),
      fields: loadFields,
      response: 'loadSlot',
    }),
    row(
      '/api/extra/data/save',
      'Save a story in a slot; empty data erase it.',
      (call) => save(call, slots?.of(call), warnOnce),
      { fields: saveFields, response: 'saveSlot' },
    ),
  ];
}

async function load(call: Call, slots: SaveSlots | undefined): Promise<Reply> {
  const nothing = { success: false, data: null };
  const input = await readInput(call, loadFields);
  if (!input) return json(nothing, 400);
  const story = await slots?.load(input.slot);
  if (!story) return json(nothing);
  return jsonText(Buffer.concat([Buffer.from('{"success":true,"data":'), story, Buffer.from('}')]));
}

async function save(call: Call, slots: SaveSlots | undefined, warn: Warn): Promise<Reply> {
  if (!slots) return failed('SaveDataFile not enabled!');
  const input = await readInput(call, saveFields, 'object');
  if (!input) return failed('Submitted story invalid!');
  const { slot, format, data } = input;
  if (data === undefined || !isSlot(slot)) return failed('No story submitted or invalid slot!');
  try {
    if (data === '') await slots.erase(slot);
    else await slots.save(slot, { title: input.title || 'Untitled Save', format, data });
  } catch (error) {
    if (error instanceof FileFull) return failed(`The save file is full: ${error.message}. Erase another slot first.`);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return failed('SaveDataFile is missing!');
    return notStored(error, 'saved', warn);
  }
  return json({ success: true, error: '' });
}

function notStored(error: unknown, verb: string, warn: Warn): Reply {
  if (error instanceof StoryTooLong) return failed('Story is too long!');
  const sentence = `The story could not be ${verb}: ${error instanceof Error ? error.message : String(error)}.`;
  warn(sentence);
  return failed(sentence, 500);
}

/** A number, also as text; NaN, which matches no slot, for anything else. */
function slotNumber(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : Number.NaN;
}

const sender = honoured(described(textOrNumber, senderName));
const statusFields = { sender, senderbusy: honoured(orElse(looseFlag, false), 'Whether the sender is writing.') };

const storyFields = {
  full_update: honoured(orElse(looseFlag, false)),
  data_format: honoured(orElse(readText, '')),
  sender,
  data: honoured(optionalText, 'The story.'),
};

/** One story with several writers. Without `--multiplayer` the replies have the same shape. */
export function multiplayerEndpoints({ story, warn }: StoryContext): ModelEndpoint<TextContext>[] {
  const warnOnce = unlessRepeated(warn);
  return [
    row(
      '/api/extra/multiplayer/status',
      'Which turn the shared story is in, and whether anybody is writing (--multiplayer).',
      (call, context) => storyStatus(call, context, story),
      { fields: statusFields, response: 'storyStatus' },
    ),
    row(
      '/api/extra/multiplayer/getstory',
      'The shared story, as it was sent.',
      async () => jsonText((await story?.turn())?.story ?? ''),
      { ...read('text'), response: 'story' },
    ),
    row(
      '/api/extra/multiplayer/setstory',
      'Go on with the shared story, or begin another one.',
      (call, context) => setStory(call, context, story, warnOnce),
      { fields: storyFields, response: 'setStory' },
    ),
  ];
}

/** An empty or invalid body is answered like that of an unknown sender. */
async function storyStatus(call: Call, { text }: TextContext, story: SharedStory | undefined): Promise<Reply> {
  if (!story) return json({ error: 'Multiplayer not enabled!' });
  const input = await readInput(call, statusFields, 'object');
  const sender = input?.sender ?? '';
  if (input?.senderbusy) story.busy(sender);
  return json(turnBody(await story.turn(), sender, story, text));
}

async function setStory(call: Call, { text }: TextContext, story: SharedStory | undefined, warn: Warn): Promise<Reply> {
  if (!story) return failed('Multiplayer not enabled!');
  const input = await readInput(call, storyFields, 'object');
  if (!input) return failed('Submitted story invalid!');
  const { sender, data = '' } = input;
  if (data === '') return failed('No story submitted!');
  try {
    const turn = await story.update({ story: data, format: input.data_format, full: input.full_update });
    return json({ success: true, ...turnBody(turn, sender, story, text) });
  } catch (error) {
    return notStored(error, 'kept', warn);
  }
}

/** Idle only while nothing is generated, and no other sender writes. */
function turnBody(turn: StoryTurn, sender: string, story: SharedStory, text: DialectContext['text']): object {
  const idle = text.performance().idle && !story.isOtherBusy(sender);
  return { turn_major: turn.major, turn_minor: turn.minor, idle, data_format: turn.format };
}

function senderName(value: unknown, path: string): string {
  return isAbsent(value) ? '' : readText(typeof value === 'number' ? String(value) : value, path);
}

/** The same sentence is logged once: clients that save automatically retry while a disk is full. */
function unlessRepeated(warn: Warn): Warn {
  let last = '';
  return (sentence) => {
    if (sentence !== last) warn(sentence);
    last = sentence;
  };
}
