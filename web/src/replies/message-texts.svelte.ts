import { characters, loadCharacters, personas } from '../characters/library.svelte.ts';
import { type MacroValues, resolveMacros, seededRandom } from '../characters/macros.ts';
import { type Cast, type FrameContext, macroValues, turnText } from '../characters/prompt.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import type { RegexScript } from '../conversations/regex-script.ts';
import { server } from '../models/server.svelte.ts';
import { modelName } from '../models/status.ts';
import { chosenScripts, type Stage, scriptsOf } from '../regex/chosen.ts';
import type { Resolve } from '../regex/engine.ts';
import { generalScripts } from '../regex/general.ts';
import { texts } from '../regex/texts.ts';
import { settings } from '../settings/settings.svelte.ts';
import { patternProblem } from '../story/pattern-texts.ts';
import { notify } from '../ui/notices.svelte.ts';

/** The texts of messages as they are stored, shown and sent: with names for macros, and changed by regex scripts. */

/** Share of the context for lorebooks without their own budget. */
const worldShare = 0.25;

/** Characters that were deleted since are left out. */
export function castOf(chat: Chat | undefined, speaker?: string): Cast {
  const all = (chat?.characters ?? []).flatMap((id) => characters.find(id) ?? []);
  return {
    speaker: all.find(({ id }) => id === speaker) ?? all[0],
    characters: all,
    persona: personas.find(chat?.persona),
  };
}

export function frameContext(): FrameContext {
  return {
    system: settings.systemPrompt,
    now: new Date(),
    model: modelName(server.model),
    ...(server.context > 0 ? { worldTokens: Math.floor(server.context * worldShare) } : {}),
  };
}

/** What macros of quick replies stand for. */
export function quickReplyValues(chat: Chat | undefined): MacroValues {
  return { ...macroValues({ id: chat?.id ?? '' }, castOf(chat), frameContext()), random: Math.random };
}

/** The text of a message with the names of the person and the character. */
export function resolvedText(chat: Chat | undefined, turn: Turn, text = turn.text): string {
  if (!chat?.characters?.length) return text;
  return turnText(chat, { ...turn, text }, castOf(chat, turn.speaker), frameContext());
}

/** As it is shown. `depth`: number of messages after it. */
export function shownText(chat: Chat | undefined, turn: Turn, text = turn.text, depth = 0): string {
  const resolved = resolvedText(chat, turn, text);
  if (!chat || turn.drawn !== undefined) return resolved;
  const prefix = turn.pending?.prefix.length;
  // A running reply is stored when it is complete.
  const stored =
    prefix === undefined ? resolved : resolved.slice(0, prefix) + scripted(chat, turn, resolved.slice(prefix), 'chat');
  return scripted(chat, turn, stored, 'shown', depth);
}

/** As it is sent to the model. */
export function sentText(chat: Chat, turn: Turn, depth: number): string {
  return scripted(chat, turn, resolvedText(chat, turn), 'sent', depth);
}

/** As a new or edited message is stored. */
export function storedText(
  chat: Chat | undefined,
  turn: Pick<Turn, 'role' | 'speaker'>,
  text: string,
  stage: 'chat' | 'edit' = 'chat',
): string {
  return scripted(chat, turn, text, stage);
}

let engine = $state.raw<typeof import('../regex/engine.ts')>();

/** The general scripts, and those of a reply's speaker; of all characters for messages of the person. */
function scriptsFor(chat: Chat | undefined, { role, speaker }: Pick<Turn, 'role' | 'speaker'>): readonly RegexScript[] {
  const all = (chat?.characters ?? []).flatMap((id) => characters.find(id) ?? []);
  const own = role === 'assistant' && all.length > 1 ? all.filter(({ id }) => id === speaker) : all;
  return scriptsOf(generalScripts.items, own);
}

const hasScripts = (chat: Chat | undefined): boolean => scriptsFor(chat, { role: 'user' }).length > 0;

/** Whether texts of a chat can be made now; see `loadScripts`. */
export function areScriptsReady(chat: Chat | undefined): boolean {
  return generalScripts.loaded && (engine !== undefined || !hasScripts(chat));
}

/** Reads the scripts. Their engine is loaded only if there are some. */
export async function loadScripts(chat: Chat | undefined): Promise<void> {
  await generalScripts.load();
  if (chat?.characters?.length) await loadCharacters();
  if (hasScripts(chat)) engine ??= await import('../regex/engine.ts');
}

interface Result {
  readonly scripts: readonly RegexScript[];
  readonly names: string;
  readonly text: string;
  readonly result: string;
}
/** By message and stage: messages that have not changed are not searched again. */
const results = new WeakMap<object, Partial<Record<Stage, Result>>>();
const notified = new Set<string>();

function scripted(
  chat: Chat | undefined,
  turn: Pick<Turn, 'role' | 'speaker'> & Partial<Turn>,
  text: string,
  stage: Stage,
  depth?: number,
): string {
  const all = scriptsFor(chat, turn);
  if (!engine || all.length === 0 || text === '') return text;
  const scripts = chosenScripts(all, turn.role, stage, depth);
  if (scripts.length === 0) return text;
  const cast = castOf(chat, turn.speaker);
  const names = `${cast.persona?.name ?? ''}\n${cast.speaker?.name ?? ''}`;
  const known = results.get(turn);
  const before = known?.[stage];
  if (before?.text === text && before.names === names && isSameList(before.scripts, scripts)) return before.result;
  const resolve = resolverOf(chat, cast, turn);
  let result = text;
  for (const script of scripts) result = ran(script, result, resolve);
  results.set(turn, { ...known, [stage]: { scripts, names, text, result } });
  return result;
}

/** A script that cannot be run leaves the text as it is, and that is said once. */
function ran(script: RegexScript, text: string, resolve: Resolve): string {
  try {
    return engine?.runScript(script, text, resolve) ?? text;
  } catch (thrown) {
    const sentence = texts.notRun(script.name || texts.unnamed, patternProblem(thrown));
    if (!notified.has(sentence)) queueMicrotask(() => notify(sentence, { kind: 'bad' }));
    notified.add(sentence);
    return text;
  }
}

function resolverOf(chat: Chat | undefined, cast: Cast, { id = '' }: Partial<Turn>): Resolve {
  const seed = `${chat?.id ?? ''}/${id}`;
  const values = macroValues({ id: chat?.id ?? '' }, cast, frameContext());
  return (text, quote) => {
    if (!text.includes('{{') && !text.includes('<')) return text;
    const quoted = quote
      ? Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? quote(value) : value])
      : [];
    return resolveMacros(text, { ...values, ...Object.fromEntries(quoted), random: seededRandom(seed), seed });
  };
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
