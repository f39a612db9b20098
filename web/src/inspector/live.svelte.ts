import { call, read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import type { Reported } from './conversations.ts';
import type { Detail, Listed, Replay } from './records.ts';

const pollMs = 2000;

/** What the server keeps at a path, fetched again and again while the page is visible. */
export class LiveAnswer<Answer> {
  answer = $state.raw<Answer>();
  /** Why there is none. */
  problem = $state<{ readonly status: number | undefined; readonly sentence: string }>();
  live = $state(true);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #text = '';

  constructor(private readonly path: string) {}

  start(): () => void {
    const seen = () => void (document.visibilityState === 'visible' && this.refresh());
    document.addEventListener('visibilitychange', seen);
    void this.refresh();
    return () => {
      document.removeEventListener('visibilitychange', seen);
      clearTimeout(this.#timer);
    };
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const text = await (await call(this.path, { background: true })).text();
      // Equal answers must not redraw the list.
      if (text !== this.#text) {
        this.answer = JSON.parse(text) as Answer;
        this.#text = text;
      }
      this.problem = undefined;
    } catch (thrown) {
      const status = thrown instanceof Failure ? thrown.status : undefined;
      this.problem = { status, sentence: sentenceOf(thrown) };
    }
    this.#again();
  }

  async clear(): Promise<void> {
    await call(this.path, { method: 'DELETE' });
    await this.refresh();
  }

  toggle(): void {
    this.live = !this.live;
    if (this.live) void this.refresh();
    else clearTimeout(this.#timer);
  }

  #again(): void {
    clearTimeout(this.#timer);
    if (this.live && document.visibilityState === 'visible')
      this.#timer = setTimeout(() => void this.refresh(), pollMs);
  }
}

export const requests = new LiveAnswer<Listed>('api/extra/requests');
export const report = new LiveAnswer<Reported>('api/extra/conversations');

export function detailOf(id: string): Promise<Detail> {
  return read<Detail>(`api/extra/requests/${encodeURIComponent(id)}`, { background: true });
}

export function replayOf(id: string, as: string): Promise<Replay> {
  return read<Replay>(`api/extra/requests/${encodeURIComponent(id)}/replay`, { body: { as }, background: true });
}
