import type { BuiltPrompt } from '../story/prompt.ts';
import { texts } from './texts.ts';

export interface Gauge {
  readonly parts: readonly { name: string; label: string; tokens: number; percent: number }[];
  /** Share of the context that the next request uses, without what is reserved for the reply: as the chat page has it. */
  readonly percent: number;
  readonly sentence: string;
}

interface Measure {
  readonly context: number;
  readonly reply: number;
  readonly charactersPerToken: number;
}

const { reply: replyLabel, ...labels } = texts.gauge.parts;

/** How the context is used; undefined while its size is unknown. */
export function gaugeOf(
  parts: BuiltPrompt['parts'],
  { context, reply, charactersPerToken }: Measure,
): Gauge | undefined {
  if (context <= 0) return undefined;
  const tokensOf = (characters: number): number => Math.ceil(characters / charactersPerToken);
  const names = Object.keys(labels) as (keyof typeof labels)[];
  const read = names.map((name) => ({
    name: name as string,
    label: labels[name] as string,
    tokens: tokensOf(parts[name]),
  }));
  const used = read.reduce((sum, { tokens }) => sum + tokens, 0);
  const reserved = Math.max(0, Math.min(reply, context - used));
  const all = [...read, { name: 'reply', label: replyLabel as string, tokens: reserved }];
  const whole = Math.max(context, used + reserved);
  return {
    parts: all.map((part) => ({ ...part, percent: (100 * part.tokens) / whole })),
    percent: Math.min(100, Math.round((100 * used) / context)),
    sentence: texts.gauge.sentence(used, context, reserved),
  };
}
