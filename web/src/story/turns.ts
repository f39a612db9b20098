import { withoutReasoning } from '../api/reasoning.ts';
import { type Passage, type Story, textOf } from './story.ts';

/** The server puts the marks of the model's own format in these places. */
export const marks = {
  system: '{{[SYSTEM]}}',
  systemEnd: '{{[SYSTEM_END]}}',
  input: '{{[INPUT]}}',
  inputEnd: '{{[INPUT_END]}}',
  output: '{{[OUTPUT]}}',
  outputEnd: '{{[OUTPUT_END]}}',
} as const;

/** How an action of an adventure stands in the text. */
export const actionMark = '> ';

export type ActionKind = 'do' | 'say' | 'story';

/** What somebody does or says, as a sentence about "you"; what is told stays as it is. */
export function actionText(kind: ActionKind, typed: string): string {
  const text = typed.trim();
  if (kind === 'story' || text === '') return text;
  if (kind === 'say') return `You say "${text.replace(/^["“]|["”]$/g, '')}"`;
  const sentence = /^you\b/i.test(text) ? text : `You ${text.replace(/^I\s+/i, '')}`;
  const begun = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.!?…"”]$/.test(begun) ? begun : `${begun}.`;
}

/** What goes between the end of a story and added text: nothing if either side already has white space or punctuation. */
export function separator(before: string, added: string): string {
  if (before === '' || /\s$/.test(before) || /^[\s,.;:!?…’”)\]]/.test(added)) return '';
  return ' ';
}

export function speakerOf({ me, them }: Pick<Story, 'me' | 'them'>, { by, name }: Passage): string {
  return name ?? (by === 'person' ? me : them);
}

/** What a passage is in the text that the model reads. */
export function asPrompt(story: Story, passage: Passage): string {
  const text = textOf(passage);
  switch (story.mode) {
    case 'story':
      return text;
    case 'adventure':
      return passage.by === 'person' ? `\n\n${actionMark}${text.trim()}\n\n` : text;
    case 'chat':
      return `\n${speakerOf(story, passage)}: ${(passage.by === 'model' ? withoutReasoning(text) : text).trim()}`;
    case 'instruct':
      return passage.by === 'person'
        ? `${marks.input}${text.trim()}${marks.inputEnd}`
        : `${marks.output}${withoutReasoning(text)}${marks.outputEnd}`;
  }
}

/** What stands directly before a reply, so that it is the turn of the model. */
export function replyPrefix(story: Story): string {
  if (story.mode === 'chat') return `\n${story.them}:`;
  return story.mode === 'instruct' ? marks.output : '';
}

/** A reply that goes on is open: what would end its turn is left away. */
export function asOpenPrompt(story: Story, passage: Passage): string {
  const text = textOf(passage);
  if (story.mode === 'chat') return `\n${speakerOf(story, passage)}: ${text.trimEnd()}`;
  if (story.mode === 'instruct') return `${marks.output}${text}`;
  return text;
}

/** Where a reply has to end, since what follows would be somebody else's turn. */
export function stopsOf(story: Story): string[] {
  const own = story.stops.filter((stop) => stop !== '');
  switch (story.mode) {
    case 'story':
      return [...own];
    case 'adventure':
      return [`\n${actionMark}`, ...own];
    case 'chat':
      return [...speakers(story).map((name) => `\n${name}:`), ...(story.oneLine ? ['\n'] : []), ...own];
    case 'instruct':
      return [marks.input, marks.output, ...own];
  }
}

/** As many as a request can name, whoever spoke last first. */
function speakers(story: Story): string[] {
  const spoke = story.passages.slice(-200).map((passage) => speakerOf(story, passage));
  return [...new Set([story.me, story.them, ...spoke.reverse()])].slice(0, 32);
}

/** A reply as it is kept: turns have no empty lines around them, while a story goes on exactly where it is. */
export function trimmedReply({ mode }: Story, text: string): string {
  if (mode === 'story') return text;
  return mode === 'adventure' ? text.replace(/^\s+/, '').trimEnd() : text.trim();
}

/** Raw text of a running reply holds its stop text; the reply ends before it. */
export function cutAtStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  return found.length > 0 ? text.slice(0, Math.min(...found)) : text;
}
