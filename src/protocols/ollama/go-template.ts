import { AppError } from '../../core/errors.ts';

export interface TemplateValues {
  readonly System: string;
  readonly Prompt: string;
  readonly Suffix: string;
}

const action = /\{\{(-?)\s*(.*?)\s*(-?)\}\}/gs;

interface Piece {
  readonly type: 'text' | 'action';
  readonly text: string;
}

/**
 * The prompt that a template of this dialect gives: fields and conditions on them. The prompt ends where the reply
 * would stand. Anything that the language can do beyond that is refused: a prompt that was put together otherwise than
 * the client meant would only give a worse answer, and nobody would know why.
 */
export function renderGoTemplate(template: string, values: TemplateValues): string {
  const conditions: { readonly outer: boolean; readonly holds: boolean }[] = [];
  let shown = true;
  let prompt = '';
  for (const { type, text } of pieces(template)) {
    const field = /^\.(\w+)$/.exec(text)?.[1];
    const tested = /^if\s+\.(\w+)$/.exec(text)?.[1];
    if (type === 'text') prompt += shown ? text : '';
    else if (field === 'Response' && shown) return prompt;
    else if (field !== undefined) prompt += shown && field !== 'Response' ? valueOf(field, values) : '';
    else if (tested !== undefined) {
      const holds = tested !== 'Response' && valueOf(tested, values) !== '';
      conditions.push({ outer: shown, holds });
      shown = shown && holds;
    } else if (text === 'else') {
      const condition = conditions.at(-1);
      if (!condition) throw unsupported('else without if');
      shown = condition.outer && !condition.holds;
    } else if (text === 'end') {
      const condition = conditions.pop();
      if (!condition) throw unsupported('end without if');
      shown = condition.outer;
    } else throw unsupported(text);
  }
  if (conditions.length > 0) throw unsupported('if without end');
  return prompt;
}

export function usesSuffix(template: string): boolean {
  return /\{\{-?\s*\.Suffix\s*-?\}\}/.test(template);
}

function pieces(template: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  let trimNext = false;
  const text = (end: number, trimEnd: boolean): void => {
    let between = template.slice(from, end);
    if (trimNext) between = between.trimStart();
    if (trimEnd) between = between.trimEnd();
    found.push({ type: 'text', text: between });
  };
  for (const match of template.matchAll(action)) {
    const [whole, before, inside = '', after] = match;
    text(match.index, before === '-');
    found.push({ type: 'action', text: inside });
    from = match.index + whole.length;
    trimNext = after === '-';
  }
  text(template.length, false);
  return found;
}

function valueOf(field: string, values: TemplateValues): string {
  if (Object.hasOwn(values, field)) return values[field as keyof TemplateValues];
  throw unsupported(`.${field}`);
}

function unsupported(found: string): AppError {
  const what = found.length > 60 ? `${found.slice(0, 60)}…` : found;
  return new AppError('unsupported', {
    feature: `This template (${what})`,
    instead: 'only .System, .Prompt, .Suffix, .Response and if, else, end around them are understood here',
  });
}
