import type { ChatTags } from './adapters/adapter.ts';

/** The texts of a request; they may contain placeholders for the tags of the model. */
export interface InstructText {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

const input = '{{[INPUT]}}';
const output = '{{[OUTPUT]}}';
const system = '{{[SYSTEM]}}';
const inputEnd = '{{[INPUT_END]}}';
const outputEnd = '{{[OUTPUT_END]}}';
const systemEnd = '{{[SYSTEM_END]}}';

type Replacements = readonly (readonly [placeholder: string, tag: string])[];

/** Replaces placeholders in prompt and memory. */
function replaceInTexts(text: InstructText, replacements: Replacements): InstructText {
  const replaced = (part: string) =>
    replacements.reduce((result, [placeholder, tag]) => result.replaceAll(placeholder, () => tag), part);
  return { ...text, prompt: replaced(text.prompt), memory: replaced(text.memory) };
}

/** Replaces the placeholders by the tags of the model. */
export function replacePlaceholders(text: InstructText, tags: ChatTags): InstructText {
  const opened = openReply(text, tags);
  const separateEnds = opened.prompt.includes(inputEnd) || opened.prompt.includes(outputEnd);
  const replaced = separateEnds ? replaceInTexts(opened, pairsOf(tags)) : replaceWithJoinedEnds(opened, tags);
  return { ...replaced, stop: replaceStops(text.stop, tags) };
}

/** `assistantGen` opens the last turn only, if it differs from `assistantStart`. */
function openReply(text: InstructText, tags: ChatTags): InstructText {
  const { assistantGen, assistantStart } = tags;
  if (assistantGen === assistantStart) return text;
  const replaceLast = (part: string) => replaceAt(part, part.lastIndexOf(output), output.length, assistantGen);
  if (text.prompt.includes(output)) return { ...text, prompt: replaceLast(text.prompt) };
  if (text.memory.includes(output)) return { ...text, memory: replaceLast(text.memory) };
  return { ...text, prompt: replaceAtEnd(text.prompt, assistantStart, assistantGen) };
}

function pairsOf(tags: ChatTags): Replacements {
  return [
    [input, tags.userStart],
    [output, tags.assistantStart],
    [system, tags.systemStart],
    [inputEnd, tags.userEnd],
    [outputEnd, tags.assistantEnd],
    [systemEnd, tags.systemEnd],
  ];
}

/** For clients without end tags: the start of a turn ends the previous one, except for the first. */
function replaceWithJoinedEnds(text: InstructText, tags: ChatTags): InstructText {
  const first = text.memory.includes(input) ? 'memory' : 'prompt';
  const opened = { ...text, [first]: text[first].replace(input, () => tags.userStart) };
  return replaceInTexts(opened, [
    [input, tags.assistantEnd + tags.userStart],
    [output, tags.userEnd + tags.assistantStart],
    [system, tags.systemStart],
    [inputEnd, ''],
    [outputEnd, ''],
    [systemEnd, ''],
  ]);
}

/** A stop text that is a placeholder of the user or the assistant. */
function replaceStops(stops: readonly string[], tags: ChatTags): readonly string[] {
  const tagOf = new Map(pairsOf(tags).filter(([placeholder]) => placeholder !== system && placeholder !== systemEnd));
  return stops.map((stop) => tagOf.get(stop)?.trim() ?? stop).filter((stop) => stop !== '');
}

/** Only at the end of the text; trailing white space is ignored. */
function replaceAtEnd(text: string, start: string, replacement: string): string {
  const trimmedStart = start.trimEnd();
  const body = text.trimEnd();
  if (trimmedStart === '' || !body.endsWith(trimmedStart)) return text;
  const index = body.length - trimmedStart.length;
  const whole = text.startsWith(start, index) ? start.length : text.length - index;
  return replaceAt(text, index, whole, replacement);
}

function replaceAt(text: string, index: number, length: number, replacement: string): string {
  return index < 0 ? text : text.slice(0, index) + replacement + text.slice(index + length);
}
