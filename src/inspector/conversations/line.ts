import { clock, printable } from '../../observe/printable.ts';
import { longPrompt } from '../../observe/request-log.ts';
import type { Conversation } from './report.ts';
import { type Loss, type PromptSpeed, secondsFor, type Turn } from './turn.ts';

interface LineOptions {
  readonly now: Date;
  /** Hides texts of prompts. */
  readonly quiet: boolean;
  readonly speed: PromptSpeed | undefined;
}

/** The line of a turn on the console; undefined for one of a short conversation. */
export function turnLine(
  { number, client, isSubAgent, history, totals }: Conversation,
  turn: Turn,
  { now, quiet, speed }: LineOptions,
): string | undefined {
  if (!history.some(({ promptTokens }) => promptTokens >= longPrompt)) return undefined;
  const { promptTokens, cachedTokens, computedTokens, writtenTokens, firstTokenMs, loss } = turn;
  const isSide = turn.task !== undefined && turn.task !== 'compaction';
  const what = isSide ? `side request (${turn.task})` : `turn ${totals.turns}${turn.task ? ` (${turn.task})` : ''}`;
  const who = `${printable(client.name)}${isSubAgent ? ' (sub-agent)' : ''} #${number}`;
  return [
    `[${clock(now)}] ${who}, ${what}: ${cachedTokens} of ${promptTokens} prompt tokens from the cache`,
    `${computedTokens} computed`,
    ...(firstTokenMs === undefined ? [] : [`first token after ${(firstTokenMs / 1000).toFixed(2)} s`]),
    `${writtenTokens} written${loss ? lossPart(loss, quiet, speed) : ''}`,
  ].join(', ');
}

const causes: Readonly<Record<Loss['cause'], (at: number) => string>> = {
  changed: (at) => `the prompt differs at token ${at}`,
  reply: (at) => `the last reply came back in another form, at token ${at}`,
  trimmed: () => 'the context is full, and the beginning was dropped',
  evicted: () => 'their state was no longer kept',
};

function lossPart({ cause, tokens, at, was, is }: Loss, quiet: boolean, speed: PromptSpeed | undefined): string {
  const seconds = secondsFor(tokens, speed);
  const time = seconds === null ? '' : `, about ${seconds.toFixed(1)} s`;
  const isVisible = !quiet && (was !== '' || is !== '');
  const difference = isVisible ? `: ${printable(JSON.stringify(is))} instead of ${printable(JSON.stringify(was))}` : '';
  return `. ${tokens} tokens were computed again${time}: ${causes[cause](at)}${difference}`;
}
