import { call, read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import type { Detail, Listed, Replay, Summary } from './records.ts';

const pollMs = 2000;

/** What the server keeps. The list is fetched again and again while the page is visible. */
class Requests {
  keeps = $state<number>();
  list = $state.raw<readonly Summary[]>([]);
  /** Why there is no list. */
  problem = $state<{ readonly status: number | undefined; readonly sentence: string }>();
  live = $state(true);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #text = '';

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
      const text = await (await call('api/extra/requests', { background: true })).text();
      // Equal answers must not redraw the list.
      if (text !== this.#text) {
        const { keeps, requests } = JSON.parse(text) as Listed;
        this.#text = text;
        this.keeps = keeps;
        this.list = requests;
      }
      this.problem = undefined;
    } catch (thrown) {
      const status = thrown instanceof Failure ? thrown.status : undefined;
      this.problem = { status, sentence: sentenceOf(thrown) };
    }
    this.#again();
  }

  async clear(): Promise<void> {
    await call('api/extra/requests', { method: 'DELETE' });
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

export const requests = new Requests();

export function detailOf(id: string): Promise<Detail> {
  return read<Detail>(`api/extra/requests/${encodeURIComponent(id)}`, { background: true });
}

export function replayOf(id: string, as: string): Promise<Replay> {
  return read<Replay>(`api/extra/requests/${encodeURIComponent(id)}/replay`, { body: { as }, background: true });
}
