/** `free` runs as it comes, `alone` with nobody beside it, and `refused` not at all. */
export type Verdict = 'free' | 'alone' | 'refused';

/** A few requests at most bring an engine down; whoever made more of them has them tried again. */
const longestMemory = 100;

/**
 * Who is to blame when an engine dies, told by the fingerprints of requests. All that ran are suspects, and a suspect runs
 * alone the next time: if the engine dies again it was this one, and if not, it was somebody else. So nobody is refused who
 * did not end the engine in both of its last two runs, the second time with nobody beside it.
 */
export class CrashSuspects {
  readonly #known = new Map<string, Exclude<Verdict, 'free'>>();

  get size(): number {
    return this.#known.size;
  }

  verdict(request: string): Verdict {
    return this.#known.get(request) ?? 'free';
  }

  /** The engine died while these ran. */
  crashed(running: readonly string[]): void {
    const requests = new Set(running);
    for (const request of requests) {
      const guilty = this.#known.has(request) && requests.size === 1;
      this.#remember(request, guilty ? 'refused' : 'alone');
    }
  }

  /** It came to an end of its own, and the engine lives. */
  survived(request: string): void {
    this.#known.delete(request);
  }

  #remember(request: string, verdict: 'alone' | 'refused'): void {
    if (this.#known.get(request) === 'refused') return;
    this.#known.delete(request);
    this.#known.set(request, verdict);
    const [oldest] = this.#known.keys();
    if (this.#known.size > longestMemory && oldest !== undefined) this.#known.delete(oldest);
  }
}
