import type { Operation } from './description.ts';

/** The path with what was written for its parts, and the query behind it. */
export function filledPath({ path, parameters }: Operation, values: Readonly<Record<string, string>>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = parameters
    .filter(({ place, name }) => place === 'query' && (values[name] ?? '') !== '')
    .map(({ name }) => `${encodeURIComponent(name)}=${encodeURIComponent(values[name] ?? '')}`);
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

/** What is wrong with the text of a body, as a sentence; nothing where it can be sent. */
export function bodyProblem(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export interface CurlOptions {
  readonly body?: string | undefined;
  /** The name of the part and of the file, where a form is sent; the fields of the body stand beside it. */
  readonly file?: { readonly part: string; readonly name: string } | undefined;
  readonly key?: string | undefined;
  readonly streams: boolean;
}

/** The same request for a shell; quoted so that nothing in it means anything there. */
export function curlCommand(method: string, url: string, { body, file, key, streams }: CurlOptions): string {
  const parts = [
    `curl ${streams ? '-N ' : ''}${method === 'GET' || file ? '' : `-X ${method} `}${quoted(url)}`,
    ...(key ? [`-H ${quoted(`Authorization: Bearer ${key}`)}`] : []),
    ...(file ? [`-F ${quoted(`${file.part}=@${file.name}`)}`, ...formFields(body)] : jsonBody(body)),
  ];
  return parts.join(' \\\n  ');
}

function jsonBody(body: string | undefined): readonly string[] {
  return body === undefined ? [] : [`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(compact(body))}`];
}

function formFields(body = '{}'): readonly string[] {
  return formParts(body).map(([name, value]) => `--form-string ${quoted(`${name}=${value}`)}`);
}

/** The fields of a body as the parts of a form, in which everything is text. */
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

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

interface StreamEvent {
  readonly token?: string;
  readonly content?: string;
  readonly delta?: string | { readonly text?: string };
  readonly choices?: readonly { readonly text?: string; readonly delta?: { readonly content?: string } }[];
}

/** The piece of text that an event of any dialect brings; nothing where it brings none. */
export function textOfEvent(data: string): string {
  try {
    const event = JSON.parse(data) as StreamEvent;
    const { token, content, delta, choices: [choice] = [] } = event;
    const pieces = [
      token,
      choice?.delta?.content,
      choice?.text,
      typeof delta === 'object' ? delta.text : delta,
      content,
    ];
    return pieces.find((piece) => typeof piece === 'string') ?? '';
  } catch {
    return '';
  }
}
