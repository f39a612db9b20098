import { fieldsOf, jsonIn, reformatted } from '../api/loose.ts';
import type { Operation } from './description.ts';

/** The path with its parameters filled in, and the query. */
export function filledPath({ path, parameters }: Operation, values: Readonly<Record<string, string>>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = parameters
    .filter(({ location, name }) => location === 'query' && (values[name] ?? '') !== '')
    .map(({ name }) => `${encodeURIComponent(name)}=${encodeURIComponent(values[name] ?? '')}`);
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

interface CurlOptions {
  readonly body?: string | undefined;
  /** Part name and file name of a form upload; the body fields become further parts. */
  readonly file?: { readonly part: string; readonly name: string } | undefined;
  readonly key?: string | undefined;
  readonly streams: boolean;
}

/** The request as a curl command, quoted for a shell. */
export function curlCommand(method: string, url: string, { body, file, key, streams }: CurlOptions): string {
  const parts = [
    `curl ${streams ? '-N ' : ''}${method === 'GET' || file ? '' : `-X ${method} `}${quoted(url)}`,
    ...(key ? [`-H ${quoted(`Authorization: Bearer ${key}`)}`] : []),
    ...(file ? [`-F ${quoted(`${file.part}=@${file.name}`)}`, ...formFields(body)] : jsonBody(body)),
  ];
  return parts.join(' \\\n  ');
}

function jsonBody(body: string | undefined): readonly string[] {
  return body === undefined
    ? []
    : [`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(reformatted(body))}`];
}

function formFields(body = '{}'): readonly string[] {
  return formParts(body).map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`);
}

/** Body fields as form parts, which are all text. */
export function formParts(body: string): readonly (readonly [name: string, value: string])[] {
  const fields = JSON.parse(body.trim() || '{}') as object;
  return Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface StreamEvent {
  readonly token?: string;
  readonly content?: string;
  readonly delta?: string | { readonly text?: string };
  readonly choices?: readonly { readonly text?: string; readonly delta?: { readonly content?: string } }[];
}

/** The text of an event of any API; empty if it has none. */
export function textOfEvent(data: string): string {
  const { token, content, delta, choices }: StreamEvent = fieldsOf(jsonIn(data));
  const text = typeof delta === 'object' ? delta?.text : delta;
  const pieces = [token, choices?.[0]?.delta?.content, choices?.[0]?.text, text, content];
  return pieces.find((piece) => typeof piece === 'string') ?? '';
}
