import { serverEvents } from '../api/events.ts';
import { sentenceOf } from '../api/failure.ts';
import { reformatted } from '../api/loose.ts';
import { textOfEvent } from './request.ts';
import { texts } from './texts.ts';

export interface ApiResponse {
  status: number;
  statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Milliseconds to the first and to the last byte. */
  firstMs: number | undefined;
  doneMs: number | undefined;
  kind: 'json' | 'events' | 'text' | 'image' | 'audio' | 'other';
  text: string;
  /** Text of all events. */
  streamedText: string;
  events: string[];
  bytes: number;
  url: string | undefined;
  problem: string;
}

const shownEvents = 400;

/** Sends one request at a time and holds its response. */
export class RequestRunner {
  answer = $state<ApiResponse>();
  running = $state(false);
  #controller: AbortController | undefined;

  async send(address: string, options: RequestInit): Promise<void> {
    this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    this.running = true;
    if (this.answer?.url) URL.revokeObjectURL(this.answer.url);
    this.answer = undefined;
    const began = performance.now();
    const isReplaced = () => this.#controller !== undefined && this.#controller !== controller;
    try {
      const response = await fetch(address, { ...options, signal: controller.signal });
      this.answer = fresh(response, performance.now() - began);
      await this.#read(this.answer, response);
    } catch (error) {
      // The response that is shown is that of another request.
      if (isReplaced()) return;
      const stopped = controller.signal.aborted;
      const problem = stopped ? texts.request.stopped : sentenceOf(error);
      if (this.answer) this.answer.problem = problem;
      else this.answer = { ...nothing, problem };
    } finally {
      if (this.answer && !isReplaced()) this.answer.doneMs = performance.now() - began;
      if (this.#controller === controller) this.running = false;
    }
  }

  stop(): void {
    this.#controller?.abort();
    this.#controller = undefined;
    this.running = false;
  }

  async #read(answer: ApiResponse, response: Response): Promise<void> {
    if (answer.kind === 'events' && response.body) {
      for await (const { event, data } of serverEvents(response.body)) {
        answer.events.push(event === 'message' ? data : `${event}: ${data}`);
        if (answer.events.length > shownEvents) answer.events.shift();
        answer.streamedText += textOfEvent(data);
        answer.bytes += data.length;
      }
      return;
    }
    const blob = await response.blob();
    answer.bytes = blob.size;
    if (answer.kind === 'image' || answer.kind === 'audio') answer.url = URL.createObjectURL(blob);
    else if (answer.kind !== 'other') answer.text = shown(await blob.text(), answer.kind);
  }
}

const nothing: ApiResponse = {
  status: 0,
  statusText: '',
  headers: [],
  firstMs: undefined,
  doneMs: undefined,
  kind: 'text',
  text: '',
  streamedText: '',
  events: [],
  bytes: 0,
  url: undefined,
  problem: '',
};

function fresh({ status, statusText, headers }: Response, firstMs: number): ApiResponse {
  const type = headers.get('content-type') ?? '';
  const shownHeaders = [...headers].filter(([name]) => name === 'content-type' || name.startsWith('x-parley-'));
  return { ...nothing, status, statusText, headers: shownHeaders, firstMs, kind: kindOf(type), events: [] };
}

function kindOf(type: string): ApiResponse['kind'] {
  if (type.includes('json')) return 'json';
  if (type.startsWith('text/event-stream')) return 'events';
  if (type.startsWith('text/')) return 'text';
  if (type.startsWith('image/')) return 'image';
  return type.startsWith('audio/') ? 'audio' : 'other';
}

/** Images and vectors in JSON are long; the complete response is available with curl. */
const maxLength = 60_000;

function shown(text: string, kind: ApiResponse['kind']): string {
  const whole = kind === 'json' ? reformatted(text, 2) : text;
  return whole.length > maxLength
    ? `${whole.slice(0, maxLength)}\n${texts.response.cut(whole.length - maxLength)}`
    : whole;
}
