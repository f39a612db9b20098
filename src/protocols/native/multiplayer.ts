import type { TextService } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { StoryTooLong } from '../../store/save-slots.ts';
import type { SharedStory, StoryTurn } from '../../store/shared-story.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { looseFlag } from '../fields/loose.ts';
import { isAbsent, optionalText, orElse, readText } from '../fields/readers.ts';
import { honoured, readFields } from '../fields/table.ts';
import { nativeFamily } from './errors.ts';
import { readInput } from './input.ts';
import type { TaskParts } from './tasks.ts';
import { unlessRepeated } from './unless-repeated.ts';

export interface MultiplayerParts {
  /** With `--multiplayer` only. */
  readonly story?: SharedStory | undefined;
  readonly warn: (sentence: string) => void;
}

const statusFields = { sender: honoured(senderName), senderbusy: honoured(orElse(looseFlag, false)) };

const storyFields = {
  full_update: honoured(orElse(looseFlag, false)),
  data_format: honoured(orElse(readText, '')),
  sender: honoured(senderName),
  data: honoured(optionalText),
};

/** One story that several people write. Where that is off, the paths answer in the same shape. */
export function multiplayerEndpoints({ story, warn }: MultiplayerParts): ModelEndpoint<TaskParts>[] {
  const parts = { story, warn: unlessRepeated(warn) };
  const common = { method: 'POST', match: 'ending', access: 'guarded', queued: false, family: nativeFamily } as const;
  return [
    {
      ...common,
      path: '/api/extra/multiplayer/status',
      summary: 'Which turn the shared story is in, and whether anybody is writing (--multiplayer).',
      handle: (call, { text }) => status(call, parts, text),
    },
    {
      ...common,
      path: '/api/extra/multiplayer/getstory',
      summary: 'The shared story, as it was sent.',
      handle: async () => plain((await parts.story?.turn())?.story ?? ''),
    },
    {
      ...common,
      path: '/api/extra/multiplayer/setstory',
      summary: 'Go on with the shared story, or begin another one.',
      handle: (call, { text }) => setStory(call, parts, text),
    },
  ];
}

async function status(call: Call, parts: MultiplayerParts, text: TextService): Promise<Reply> {
  const { story } = parts;
  if (!story) return json({ error: 'Multiplayer not enabled!' });
  // Whoever sends nothing, or nothing of sense, is told the same as a stranger.
  const input = await readInput(call, (body) => readFields(statusFields, body), 'object');
  const sender = input?.sender ?? '';
  if (input?.senderbusy) story.busy(sender);
  return json(turnBody(await story.turn(), { sender, story, text }));
}

async function setStory(call: Call, parts: MultiplayerParts, text: TextService): Promise<Reply> {
  const { story, warn } = parts;
  if (!story) return failed('Multiplayer not enabled!');
  const input = await readInput(call, (body) => readFields(storyFields, body), 'object');
  if (!input) return failed('Submitted story invalid!');
  const { sender, data = '' } = input;
  if (data === '') return failed('No story submitted!');
  try {
    const turn = await story.update({ story: data, format: input.data_format, full: input.full_update });
    return json({ success: true, ...turnBody(turn, { sender, story, text }) });
  } catch (error) {
    if (error instanceof StoryTooLong) return failed('Story is too long!');
    const sentence = `The story could not be kept: ${error instanceof Error ? error.message : String(error)}.`;
    warn(sentence);
    return failed(sentence, 500);
  }
}

interface Asked {
  readonly sender: string;
  readonly story: SharedStory;
  readonly text: TextService;
}

/** Idle only while nothing is generated for anybody, and nobody else writes. */
function turnBody({ major, minor, format }: StoryTurn, { sender, story, text }: Asked): object {
  const idle = text.performance().idle && !story.isBusyBeside(sender);
  return { turn_major: major, turn_minor: minor, idle, data_format: format };
}

/** Clients read it as it is, under the type of everything else here. */
function plain(body: string): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function failed(error: string, status = 400): Reply {
  return json({ success: false, error }, status);
}

function senderName(value: unknown, path: string): string {
  return isAbsent(value) ? '' : readText(typeof value === 'number' ? String(value) : value, path);
}
