import { read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';

/** How often a list is fetched while something in it is going on, and while the server does not answer. */
const often = 1000;
const seldom = 5000;

/** A list of the server, fetched again as long as something in it is going on. */
export class Polled<Name extends string, Entry> {
  list = $state.raw<readonly Entry[]>([]);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly path: string,
    private readonly name: Name,
    private readonly isBusy: (entry: Entry) => boolean,
    private readonly onList: (list: readonly Entry[]) => void = () => {},
  ) {}

  /** Resolves to whether the server has answered. */
  async refresh(): Promise<boolean> {
    clearTimeout(this.#timer);
    let answered = true;
    try {
      this.list = (await read<Record<Name, readonly Entry[]>>(this.path, { background: true }))[this.name];
      this.onList(this.list);
    } catch {
      answered = false;
    }
    if (this.list.some(this.isBusy)) this.#timer = setTimeout(() => void this.refresh(), answered ? often : seldom);
    return answered;
  }

  /** Changes something on the server, and fetches the list. Throws if the server refuses. */
  async change(action: '' | `/${string}`, body: object, onAccepted: (name: string) => void = () => {}): Promise<void> {
    const answer = await read<{ success: boolean; error?: string; model?: string }>(`${this.path}${action}`, { body });
    if (answer.success) onAccepted(answer.model ?? '');
    await this.refresh();
    if (!answer.success) throw new Failure(answer.error ?? '');
  }
}
