import { AppError } from '../../core/errors.ts';

type TemplateValues = Readonly<Record<'System' | 'Prompt' | 'Suffix', string>>;

/** Fields and conditions on them, up to `.Response`. The rest of the language is refused: the prompt would be wrong. */
export function renderGoTemplate(template: string, values: TemplateValues): string {
  const conditions: { readonly outer: boolean; readonly holds: boolean }[] = [];
  let isVisible = true;
  let prompt = '';
  for (const { type, text } of pieces(template)) {
    const field = /^\.(\w+)$/.exec(text)?.[1];
    const tested = /^if\s+\.(\w+)$/.exec(text)?.[1];
    if (type === 'text') prompt += isVisible ? text : '';
    else if (field === 'Response' && isVisible) return prompt;
    else if (field !== undefined) prompt += isVisible && field !== 'Response' ? fieldValue(field, values) : '';
    else if (tested !== undefined) {
      const holds = tested !== 'Response' && fieldValue(tested, values) !== '';
      conditions.push({ outer: isVisible, holds });
      isVisible = isVisible && holds;
    } else if (text === 'else' || text === 'end') {
      const condition = text === 'else' ? conditions.at(-1) : conditions.pop();
      if (!condition) throw unsupported(`${text} without if`);
      isVisible = condition.outer && (text === 'end' || !condition.holds);
    } else throw unsupported(text);
  }
  if (conditions.length > 0) throw unsupported('if without end');
  return prompt;
}

export function usesSuffix(template: string): boolean {
  return pieces(template).some(({ type, text }) => type === 'action' && text === '.Suffix');
}

/** Texts and actions in turn. A dash at either end of an action removes the white space on that side of it. */
function pieces(template: string): readonly { readonly type: 'text' | 'action'; readonly text: string }[] {
  if (template.lastIndexOf('{{') > template.lastIndexOf('}}')) throw unsupported('{{ without }}');
  const parts = template.split(/\{\{(.*?)\}\}/s);
  return parts.map((part, index) => {
    if (index % 2 === 1) return { type: 'action', text: part.replace(/^-/, '').replace(/-$/, '').trim() };
    const behind = parts[index - 1]?.endsWith('-') ? part.trimStart() : part;
    return { type: 'text', text: parts[index + 1]?.startsWith('-') ? behind.trimEnd() : behind };
  });
}

function fieldValue(field: string, values: TemplateValues): string {
  if (Object.hasOwn(values, field)) return values[field as keyof TemplateValues];
  throw unsupported(`.${field}`);
}

function unsupported(feature: string): AppError {
  const what = feature.length > 60 ? `${feature.slice(0, 60)}…` : feature;
  const instead = 'only .System, .Prompt, .Suffix, .Response and if, else, end around them are understood here';
  return new AppError('unsupported', { feature: `This template (${what})`, instead });
}
