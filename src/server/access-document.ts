import { fillPage } from '../core/fill-page.ts';
import { keyScopes } from '../core/key-scopes.ts';
import type { AccessTable } from './access.ts';

/** Fills what the access rules say into docs/security.md. */
export const fillPaths = (page: string, rules: AccessTable): string => fillPage(page, 'paths', pathTables(rules));

type Wanted = (rule: { readonly access: string; readonly scope?: string }, title: string) => boolean;

function pathTables(rules: AccessTable): string {
  const titles = new Set([...rules.values()].map(({ family }) => family.title));
  const open = [...titles].map((title) => [
    title,
    pathsWhere(rules, ({ access }, family) => access === 'open' && family === title),
  ]);
  const scopes = keyScopes.map((scope) => [`\`${scope}\``, pathsWhere(rules, (rule) => rule.scope === scope)]);
  const anyKey = pathsWhere(rules, ({ access, scope }) => access !== 'open' && scope === undefined);
  return [
    'Open without a key:',
    '',
    ...table(['API', 'Paths'], open),
    '',
    'With a key:',
    '',
    ...table(['Scope', 'Paths'], [...scopes, ['any key', anyKey]]),
  ].join('\n');
}

/** `GET /a, /b/…; POST /c`: a path that ends with a slash stands for all below it. */
function pathsWhere(rules: AccessTable, wanted: Wanted): string {
  const byMethod = new Map<string, string[]>();
  for (const [key, rule] of rules) {
    if (!wanted(rule, rule.family.title)) continue;
    const [method = '', path = ''] = key.split(' ');
    const shown = path.length > 1 && path.endsWith('/') ? `${path}…` : path;
    byMethod.set(method, [...(byMethod.get(method) ?? []), `\`${shown}\``]);
  }
  return [...byMethod].map(([method, paths]) => `${method} ${paths.join(', ')}`).join('; ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.filter(([, paths]) => paths).map(line)];
}
