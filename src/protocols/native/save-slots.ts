import { type Call, json, type Reply } from '../../http/call.ts';
import { FileFull } from '../../store/atomic-file.ts';
import { isSlot, type SaveSlots, StoryTooLong } from '../../store/save-slots.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { optionalText, orElse, readText } from '../fields/readers.ts';
import { honoured, readFields } from '../fields/table.ts';
import { nativeFamily } from './errors.ts';
import { readInput } from './input.ts';
import { unlessRepeated } from './unless-repeated.ts';

export interface SaveSlotParts {
  /** With `--savedatafile` only. */
  readonly slots?: SaveSlots | undefined;
  readonly warn: (sentence: string) => void;
}

const loadFields = { slot: honoured(slotNumber) };

const saveFields = {
  slot: honoured(slotNumber),
  title: honoured(orElse(readText, '')),
  format: honoured(orElse(readText, '')),
  data: honoured(optionalText),
};

/** Stories that clients keep on the server. Where that is off, the paths answer in the same shape. */
export function saveSlotEndpoints({ slots, warn }: SaveSlotParts): PlainEndpoint[] {
  const parts = { slots, warn: unlessRepeated(warn) };
  const common = { method: 'POST', match: 'ending', access: 'guarded', queued: false, family: nativeFamily } as const;
  return [
    {
      ...common,
      path: '/api/extra/data/list',
      summary: 'The titles of the stories that are saved on the server, by slot (--savedatafile).',
      handle: async () => json((await parts.slots?.titles()) ?? []),
    },
    {
      ...common,
      path: '/api/extra/data/load',
      summary: 'The story in a slot.',
      handle: (call) => load(call, parts),
    },
    {
      ...common,
      path: '/api/extra/data/save',
      summary: 'Save a story in a slot; empty data erase it.',
      handle: (call) => save(call, parts),
    },
  ];
}

async function load(call: Call, { slots }: SaveSlotParts): Promise<Reply> {
  const nothing = { success: false, data: null };
  const input = await readInput(call, (body) => readFields(loadFields, body));
  if (!input) return json(nothing, 400);
  const story = await slots?.load(input.slot);
  if (!story) return json(nothing);
  const body = Buffer.concat([Buffer.from('{"success":true,"data":'), story, Buffer.from('}')]);
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

async function save(call: Call, { slots, warn }: SaveSlotParts): Promise<Reply> {
  if (!slots) return failed('SaveDataFile not enabled!');
  const input = await readInput(call, (body) => readFields(saveFields, body), 'object');
  if (!input) return failed('Submitted story invalid!');
  const { slot, format, data } = input;
  if (data === undefined || !isSlot(slot)) return failed('No story submitted or invalid slot!');
  try {
    if (data === '') await slots.erase(slot);
    else await slots.save(slot, { title: input.title || 'Untitled Save', format, data });
  } catch (error) {
    return notSaved(error, warn);
  }
  return json({ success: true, error: '' });
}

function notSaved(error: unknown, warn: SaveSlotParts['warn']): Reply {
  if (error instanceof StoryTooLong) return failed('Story is too long!');
  if (error instanceof FileFull) return failed(`The save file is full: ${error.message}. Erase another slot first.`);
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return failed('SaveDataFile is missing!');
  const sentence = `The story could not be saved: ${error instanceof Error ? error.message : String(error)}.`;
  warn(sentence);
  return failed(sentence, 500);
}

function failed(error: string, status = 400): Reply {
  return json({ success: false, error }, status);
}

/** A number, or one as text; anything else is no slot, which the reply says in its own words. */
function slotNumber(value: unknown): number {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : Number.NaN;
}
