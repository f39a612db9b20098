import { fillPage } from '../core/fill-page.ts';
import { keyScopes } from '../keys/key-file.ts';
import { type AccessTable, accessGroups, accessTable } from './access.ts';

/** Fills what the access table says into docs/security.md. */
export const fillPaths = (page: string): string => fillPage(page, 'paths', pathTables());

function pathTables(): string {
  const open = [...accessGroups].map(([title, group]) => [title, pathsWhere(group, (rule) => rule.access === 'open')]);
  const scopes = keyScopes.map((scope) => [`\`${scope}\``, pathsWhere(accessTable, (rule) => rule.scope === scope)]);
  const anyKey = pathsWhere(accessTable, ({ access, scope }) => access !== 'open' && scope === undefined);
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
function pathsWhere(group: AccessTable, wanted: (rule: { access: string; scope?: string }) => boolean): string {
  const byMethod = new Map<string, string[]>();
  for (const [key, rule] of group) {
    if (!wanted(rule)) continue;
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
