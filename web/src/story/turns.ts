import { withoutReasoning } from '../api/reasoning.ts';
import { type Passage, type Story, textOf } from './story.ts';

/** Placeholders that the server replaces with the tokens of the model's chat format. */
export const marks = {
  system: '{{[SYSTEM]}}',
  systemEnd: '{{[SYSTEM_END]}}',
  input: '{{[INPUT]}}',
  inputEnd: '{{[INPUT_END]}}',
  output: '{{[OUTPUT]}}',
  outputEnd: '{{[OUTPUT_END]}}',
} as const;

/** Prefix of an action in the text of an adventure. */
export const actionMark = '> ';

export type ActionKind = 'do' | 'say' | 'story';

/** Turns an action into a sentence about "you"; narration stays unchanged. */
export function actionText(kind: ActionKind, typed: string): string {
  const text = typed.trim();
  if (kind === 'story' || text === '') return text;
  if (kind === 'say') return `You say "${text.replace(/^["“]|["”]$/g, '')}"`;
  const addressed = inSecondPerson(text);
  const sentence = /^you\b/i.test(addressed) ? addressed : `You ${addressed}`;
  const begun = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.!?…"”]$/.test(begun) ? begun : `${begun}.`;
}

const secondPerson: Readonly<Record<string, string>> = {
  I: 'you',
  'I am': 'you are',
  "I'm": "you're",
  'I was': 'you were',
  me: 'you',
  my: 'your',
  myself: 'yourself',
};

/** The first person becomes the second, except in quotations. "Mine" is left alone: in adventures it is a place. */
function inSecondPerson(text: string): string {
  return text.replace(/^i\b/, 'I').replace(/"[^"]*"|“[^”]*”|\b(?:I (?:am|was)|I['’]m|I|me|my|myself)\b/g, (match) => {
    return secondPerson[match.replace('’', "'")] ?? match;
  });
}

/** The separator between the end of a story and added text: empty if either side already has white space or punctuation. */
export function separator(before: string, added: string): string {
  if (before === '' || /\s$/.test(before) || /^[\s,.;:!?…’”)\]]/.test(added)) return '';
  return ' ';
}

export function speakerOf({ me, them }: Pick<Story, 'me' | 'them'>, { by, name }: Passage): string {
  return name ?? (by === 'person' ? me : them);
}

/** A passage as it appears in the prompt. */
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

/** The end of the prompt, which makes the model write the next turn. */
export function replyPrefix(story: Story): string {
  if (story.mode === 'chat') return `\n${story.them}:`;
  return story.mode === 'instruct' ? marks.output : '';
}

/** A reply to be continued, without the tokens that would end its turn. */
export function asOpenPrompt(story: Story, passage: Passage): string {
  const text = textOf(passage);
  if (story.mode === 'chat') return `\n${speakerOf(story, passage)}: ${text.trimEnd()}`;
  if (story.mode === 'instruct') return `${marks.output}${text}`;
  return text;
}

/** Stop sequences: the start of another turn. */
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

/** At most 32 speakers, the most recent first: the limit of a request. */
function speakers(story: Story): string[] {
  const spoke = story.passages.slice(-200).map((passage) => speakerOf(story, passage));
  return [...new Set([story.me, story.them, ...spoke.reverse()])].slice(0, 32);
}

/** A finished reply. Turns are trimmed; story text is kept exactly. */
export function trimmedReply({ mode }: Story, text: string): string {
  if (mode === 'story') return text;
  return mode === 'adventure' ? text.replace(/^\s+/, '').trimEnd() : text.trim();
}

/** The raw text of a running reply includes the stop sequence; it is cut off here. */
export function cutAtStop(text: string, stops: readonly string[]): string {
  const positions = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  return positions.length > 0 ? text.slice(0, Math.min(...positions)) : text;
}
