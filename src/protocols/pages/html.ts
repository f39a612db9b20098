import { escapeHtml } from '../../http/pages.ts';

/** Text that is already HTML. Only the `html` tag makes it, so that whatever else comes into a page is escaped. */
export interface Markup {
  readonly markup: string;
}

type Value = string | number | Markup | readonly Markup[];

export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { markup: String.raw({ raw: strings }, ...values.map(render)) };
}

function render(value: Value): string {
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map(render).join('');
}
