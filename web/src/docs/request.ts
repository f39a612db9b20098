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

/** The same request for a shell; quoted so that nothing in it means anything there. */
export function curlCommand(
  method: string,
  url: string,
  {
    body,
    key,
    streams,
  }: { readonly body?: string | undefined; readonly key?: string | undefined; readonly streams: boolean },
): string {
  const parts = [
    `curl ${streams ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...(key ? [`-H ${quoted(`Authorization: Bearer ${key}`)}`] : []),
    ...(body === undefined ? [] : [`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(compact(body))}`]),
  ];
  return parts.join(' \\\n  ');
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
