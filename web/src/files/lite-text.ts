import { type Mode, type Passage, type Story, textOf } from '../story/story.ts';
import { actionMark, speakerOf } from '../story/turns.ts';

export interface Turn {
  readonly by: Passage['by'];
  readonly text: string;
  /** Name of another speaker. */
  readonly name?: string;
}

interface Names {
  readonly me: string;
  readonly them: string;
  readonly others: readonly string[];
}

const input = '{{[INPUT]}}';
const output = '{{[OUTPUT]}}';

/** Splits one text into its turns. */
export function turnsOf(
  mode: Mode,
  text: string,
  names: Names,
  tags: { readonly input: string; readonly output: string } = { input, output },
): Turn[] {
  const turns = mode === 'adventure' ? actions(text) : mode === 'chat' ? messages(text, names) : tasks(text, tags);
  return turns.filter((turn) => turn.text !== '');
}

function actions(text: string): Turn[] {
  return text
    .replace(/^> /, '\n> ')
    .split(/\n+(?=> )/)
    .flatMap((part) => {
      if (!part.startsWith(actionMark)) return [{ by: 'model', text: part.trim() }];
      const [action = '', ...told] = part.slice(actionMark.length).split('\n');
      return [
        { by: 'person', text: action.trim() },
        { by: 'model', text: told.join('\n').trim() },
      ] satisfies Turn[];
    });
}

function messages(text: string, { me, them, others }: Names): Turn[] {
  const known = [me, them, ...others];
  const turns: Turn[] = [];
  for (const line of text.split('\n')) {
    const name = known.find((one) => line.startsWith(`${one}:`));
    const last = turns.at(-1);
    if (name !== undefined) {
      const by = name === me ? 'person' : 'model';
      const message = line.slice(name.length + 1).trimStart();
      turns.push({ by, text: message, ...(others.includes(name) ? { name } : {}) });
    } else if (last) turns[turns.length - 1] = { ...last, text: `${last.text}\n${line}` };
    else if (line.trim() !== '') turns.push({ by: 'model', text: line });
  }
  return turns.map((turn) => ({ ...turn, text: turn.text.trim() }));
}

function tasks(text: string, tags: { readonly input: string; readonly output: string }): Turn[] {
  // Other instruct formats use the tags that their settings name.
  const unified = [
    [tags.input, input],
    [tags.output, output],
  ].reduce(
    (now, [tag = '', mark = '']) => (unescaped(tag).trim() === '' ? now : now.replaceAll(unescaped(tag).trim(), mark)),
    text,
  );
  return unified.split(/(?=\{\{\[(?:INPUT|OUTPUT)\]\}\})/).map((part) => {
    if (part.startsWith(input)) return { by: 'person', text: withoutEnds(part.slice(input.length)) };
    return { by: 'model', text: withoutEnds(part.startsWith(output) ? part.slice(output.length) : part) };
  });
}

function withoutEnds(text: string): string {
  return text.replace(/\{\{\[(?:INPUT|OUTPUT)_END\]\}\}/g, '').trim();
}

function unescaped(tag: string): string {
  return tag.replaceAll('\\n', '\n');
}

/** The texts of a save, one per passage. */
export function textsOfStory(story: Story): string[] {
  return story.passages.map((passage, index) => textOfTurn(story, passage, index === 0));
}

function textOfTurn(story: Story, passage: Passage, first: boolean): string {
  const text = textOf(passage);
  switch (story.mode) {
    case 'story':
      return text;
    case 'adventure':
      return passage.by === 'person' ? `\n\n${actionMark}${text}\n\n` : text;
    case 'chat':
      return `${first ? '' : '\n'}${speakerOf(story, passage)}: ${text}`;
    case 'instruct':
      return passage.by === 'person' ? `\n${input}\n${text}\n${output}\n` : text;
  }
}
