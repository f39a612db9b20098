import { AppError } from '../../core/errors.ts';

export interface TemplateValues {
  readonly System: string;
  readonly Prompt: string;
  readonly Suffix: string;
}

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
    else if (field !== undefined) prompt += shown && field !== 'Response' ? fieldValue(field, values) : '';
    else if (tested !== undefined) {
      const holds = tested !== 'Response' && fieldValue(tested, values) !== '';
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
  return pieces(template).some(({ type, text }) => type === 'action' && text === '.Suffix');
}

/** A dash at either end of an action takes the white space on that side with it. */
function pieces(template: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  let trimStart = false;
  const addText = (end: number, trimEnd: boolean): void => {
    let between = template.slice(from, end);
    if (trimStart) between = between.trimStart();
    if (trimEnd) between = between.trimEnd();
    found.push({ type: 'text', text: between });
  };
  for (let open = template.indexOf('{{'); open !== -1; open = template.indexOf('{{', from)) {
    const close = template.indexOf('}}', open);
    if (close === -1) throw unsupported('{{ without }}');
    const inside = template.slice(open + 2, close);
    addText(open, inside.startsWith('-'));
    found.push({ type: 'action', text: inside.replace(/^-/, '').replace(/-$/, '').trim() });
    from = close + 2;
    trimStart = inside.endsWith('-');
  }
  addText(template.length, false);
  return found;
}

function fieldValue(field: string, values: TemplateValues): string {
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
