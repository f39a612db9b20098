import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body read as JSON. */
  json(): unknown;
}

export interface Frame {
  readonly event: string;
  readonly data: { readonly token: string; readonly finish_reason: string | null; readonly error?: { type: string } };
}

export interface NativeResult {
  readonly text: string;
  readonly tool_calls: readonly unknown[];
  readonly finish_reason: string;
  readonly logprobs: {
    readonly content: readonly Record<string, unknown>[];
    readonly tokens: readonly string[];
  } | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly warnings?: readonly string[];
}

/**
 * Fields of every dialect which forbid the end of a reply: it has all the tokens that are asked for, whatever the model would say.
 * Other names (`ignore_eos`) are not read by all dialects.
 */
export const neverEnding = { ban_eos_token: true } as const;

/** The text of a reply, whatever the model would say; a field of every dialect. */
export const saying = (text: string): object => ({ grammar: `root ::= ${JSON.stringify(text)}` });

/** A client of the native API that hides nothing: status, headers and exact text of every answer. */
export function nativeClient(base: string, headers: Record<string, string> = {}) {
  async function call(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    more: RequestInit = {},
  ): Promise<Answer> {
    const sent = body === undefined ? {} : { body };
    const reply = await fetch(`${base}${path}`, { method, headers, ...sent, ...more });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, text, json: () => JSON.parse(text) };
  }
  const get = (path: string) => call('GET', path);
  const post = (path: string, body: unknown = {}, more: RequestInit = {}) =>
    call('POST', path, JSON.stringify(body), more);

  /** Temperature 0 and a short reply of exactly that length, unless the fields say otherwise. A grammar ends where it ends. */
  const complete = (fields: object) => ({
    temperature: 0,
    max_length: 24,
    ...('grammar' in fields ? {} : neverEnding),
    ...fields,
  });
  async function generate(fields: object, path = '/api/v1/generate'): Promise<NativeResult> {
    const answer = await post(path, complete(fields));
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
    return (JSON.parse(answer.text) as { results: [NativeResult] }).results[0];
  }
  async function stream(fields: object): Promise<{ answer: Answer; frames: readonly Frame[] }> {
    const answer = await post('/api/extra/generate/stream', complete(fields));
    return { answer, frames: readFrames(answer.text) };
  }
  async function check(genkey?: string): Promise<string> {
    const answer = await post('/api/extra/generate/check', genkey === undefined ? {} : { genkey });
    return (JSON.parse(answer.text) as { results: [{ text: string }] }).results[0].text;
  }
  /** Resolves when the text of this key has begun. */
  async function begun(genkey: string): Promise<void> {
    while ((await check(genkey)) === '') await wait(5);
  }
  async function performance(): Promise<Record<string, number>> {
    return JSON.parse((await get('/api/extra/perf')).text);
  }
  /** Asks until the figures are as wished, with pauses: the server has better things to do than to answer this. */
  async function performanceWhere(
    wished: (figures: Record<string, number>) => boolean,
  ): Promise<Record<string, number>> {
    for (;;) {
      const figures = await performance();
      if (wished(figures)) return figures;
      await wait(5);
    }
  }
  return { call, get, post, generate, stream, check, begun, performance, performanceWhere };
}

export type NativeClient = ReturnType<typeof nativeClient>;

/** The frames of a stream, found as the bundled web client finds them: what this does not match is invisible to users. */
export function readFrames(text: string): readonly Frame[] {
  const pattern = /^event: (.*)\ndata: (.*)(\r?\n){2}/gm;
  return [...text.matchAll(pattern)].map(([, event = '', data = '']) => ({ event, data: JSON.parse(data) }));
}

export interface OpenRequest {
  /** Resolves when the first bytes of the reply's body are here. */
  readonly begun: Promise<void>;
  /** Resolves when the connection is over, however that came. */
  readonly over: Promise<void>;
  /** Goes away without a word. */
  hangUp(): void;
}

/** A request on a connection of its own that can be cut at any moment. */
export function openRequest(base: string, path: string, body: object): OpenRequest {
  const secure = base.startsWith('https');
  const options = {
    method: 'POST',
    agent: false,
    rejectUnauthorized: false,
    headers: { 'content-type': 'application/json' },
  };
  const request: ClientRequest = (secure ? httpsRequest : httpRequest)(`${base}${path}`, options);
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const over = new Promise<void>((resolve) => {
    request.once('close', () => resolve());
  });
  request.on('error', () => {});
  request.on('response', (response) => {
    response.on('error', () => {});
    response.on('data', begin);
  });
  request.end(JSON.stringify(body));
  return { begun, over, hangUp: () => request.destroy() };
}
