import { agents } from '../../src/agents/catalogue.ts';
import type { EndpointFidelity, FieldFidelity } from '../../src/core/fidelity.ts';
import type { Recommendation } from '../../src/core/models-view.ts';
import { keyScopes } from '../../src/core/people.ts';
import { byteSize } from '../../src/core/readable.ts';
import type { AccessRule, EndpointInfo } from '../../src/http/call.ts';
import type { SocketEndpoint } from '../../src/http/web-socket.ts';
import { recommendedDate, recommendedEntries } from '../../src/library/recommended.ts';
import { metricList } from '../../src/observe/metrics.ts';
import type { EndpointShape } from '../../src/protocols/endpoint.ts';
import { handlings } from '../../src/protocols/fidelity/fidelity.ts';

/** Replaces everything between the two markers of a page, `<!-- name -->` and `<!-- /name -->`, by a text. */
export function fillPage(page: string, name: string, text: string): string {
  const [opening, closing] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const start = page.indexOf(opening);
  const end = page.indexOf(closing);
  if (start === -1 || end < start) throw new Error(`The page needs a line ${opening} and a line ${closing} after it.`);
  return `${page.slice(0, start)}${opening}\n\n${text.trimEnd()}\n\n${page.slice(end)}`;
}

/** Rules by `METHOD path`, as the rows declare them; a WebSocket has the method `SOCKET`. */
type AccessTable = ReadonlyMap<string, AccessRule & Pick<EndpointInfo, 'dialect'>>;

interface Rows {
  readonly endpoints: readonly EndpointInfo[];
  readonly sockets: readonly SocketEndpoint[];
}

/** Files of the web client; their names change with each build. */
const pageFile = /\.(js|css|svg|png|woff2?|wasm|onnx|json|txt|webmanifest|html)$/;

/** The access rules of all rows, without the files of the web client, which are open. */
export function accessTable({ endpoints, sockets }: Rows): AccessTable {
  const isFile = ({ match, path }: EndpointInfo) => match === 'folder' || pageFile.test(path);
  const listed = endpoints.filter((row) => row.dialect.name !== 'pages' || !isFile(row));
  const rows = [...listed, ...sockets.map((socket) => ({ ...socket, method: 'SOCKET' }))];
  return new Map(rows.map((row) => [`${row.method} ${row.path}`, row]));
}

/** Fills what the access rules say into docs/security.md. */
export const fillPaths = (page: string, rules: AccessTable): string => fillPage(page, 'paths', pathTables(rules));

type Wanted = (rule: { readonly access: string; readonly scope?: string }, title: string) => boolean;

function pathTables(rules: AccessTable): string {
  const titles = new Set([...rules.values()].map(({ dialect }) => dialect.title));
  const open = [...titles].map((title) => [
    title,
    pathsWhere(rules, ({ access }, dialect) => access === 'open' && dialect === title),
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
function pathsWhere(rules: AccessTable, predicate: Wanted): string {
  const byMethod = new Map<string, string[]>();
  for (const [key, rule] of rules) {
    if (!predicate(rule, rule.dialect.title)) continue;
    const [method = '', path = ''] = key.split(' ');
    const pattern = path.length > 1 && path.endsWith('/') ? `${path}…` : path;
    byMethod.set(method, [...(byMethod.get(method) ?? []), `\`${pattern}\``]);
  }
  return [...byMethod].map(([method, paths]) => `${method} ${paths.join(', ')}`).join('; ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.filter(([, paths]) => paths).map(line)];
}

/** Fills the table of all metrics into docs/monitoring.md. */
export function fillMetrics(page: string): string {
  const rows = metricList().map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
  return fillPage(page, 'metrics', ['| Metric | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n'));
}

const purposes: Readonly<Record<Recommendation['purpose'], string>> = {
  chat: 'Chat',
  code: 'Code and agents',
  stories: 'Stories',
  vision: 'Pictures as input',
  embeddings: 'Embeddings',
  pictures: 'Making pictures',
  speech: 'Speaking',
};

/** Fills the table of all recommendations into docs/models.md. */
export function fillRecommended(page: string): string {
  const rows = recommendedEntries.map(({ purpose, memory, name, model, search, pack, bytes, licence, why }) => {
    const source = model ? `\`${model}\`` : [search && `search "${search}"`, pack && `pack \`${pack}\``];
    const size = bytes === null ? '' : byteSize(bytes);
    const from = [source].flat().filter(Boolean).join(', ');
    return `| ${purposes[purpose]} | ${memory} GB | ${name} | ${from} | ${size} | ${licence} | ${why} |`;
  });
  const head = [
    '| For | Memory | Model | From | Size | Licence | Why |',
    '| --- | --- | --- | --- | --- | --- | --- |',
  ];
  return fillPage(page, 'recommended', [`State: ${recommendedDate}.`, '', ...head, ...rows].join('\n'));
}

/** docs/agents.md with the table of agents. */
export function fillAgents(page: string): string {
  const rows = Object.entries(agents).map(([name, { title, api, install, tested, promptTokens, config }]) => [
    title,
    `\`parley launch ${name}\``,
    api,
    String(promptTokens),
    config ? 'yes' : 'no',
    tested === undefined ? 'not run; settings by its documentation' : `run, ${tested}`,
    install.startsWith('see ') ? install : `\`${install}\``,
  ]);
  const head = ['Agent', 'Start', 'API', 'Instructions (tokens)', '`--config`', 'Tested', 'Install'];
  return fillPage(page, 'agents', table(head, rows).join('\n'));
}

/** The page under docs/apis/ that documents an endpoint. */
export function pageOf({ scope, dialect }: EndpointShape): string {
  return scope === 'audio' ? 'audio' : dialect.name;
}

/** Replaces everything between the two markers of a documentation page by the tables of its endpoints. */
export function fillFields(page: string, endpoints: readonly EndpointFidelity[]): string {
  const meanings = Object.entries(handlings).map(([word, meaning]) => `- **${word}**: ${meaning}`);
  const lines = [...meanings, '', ...endpoints.map(fidelityTable)];
  return fillPage(page, 'fields', lines.join('\n'));
}

/** One endpoint as a Markdown table below a heading. */
export function fidelityTable({ endpoint, fields }: EndpointFidelity): string {
  const head = [`### \`${endpoint}\``, '', '| Field | What becomes of it | Note |', '|---|---|---|'];
  return [...head, ...fields.map(fieldRow), ''].join('\n');
}

function fieldRow({ field, handling, note = '' }: FieldFidelity): string {
  return `| \`${field}\` | ${handling} | ${note.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`;
}
