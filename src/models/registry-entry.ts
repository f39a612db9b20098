import type { Resident } from './eviction.ts';
import type { EntryState, Lifecycle, Listed, ModelSpec, UnloadReason, Use } from './lifecycle.ts';

export interface RegistryEntryParts {
  readonly startTimer: (milliseconds: number, action: () => void) => { cancel(): void };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long something stays after its last use where nobody says otherwise; infinite for ever. */
  readonly defaultKeepMs: () => number;
}

/** Longer than this and a timer of Node would fire at once; it is for ever to any reader of a clock. */
const longestTimer = 2 ** 31 - 1;

/** One name: what is in memory for it, who uses it, and when it goes. */
export class RegistryEntry<Loaded extends Lifecycle> {
  #life: Loaded | undefined;
  /** Set while it ends its work; resolves when it is gone. */
  #leaving: Promise<void> | undefined;
  #drained: (() => void) | undefined;
  #failure: string | undefined;
  #uses = 0;
  #lastUsed = 0;
  /** What it took when it was last there: better than any estimate. */
  #measured: number | undefined;
  #estimated: number | undefined;
  #keepMs: number;
  #expiresAt = Number.POSITIVE_INFINITY;
  #timer: { cancel(): void } | undefined;

  constructor(
    readonly spec: ModelSpec<string, Loaded>,
    private readonly parts: RegistryEntryParts,
    private readonly onLeft: (why: UnloadReason) => void,
  ) {
    this.#keepMs = this.#defaultKeepMs();
  }

  /** No two have the same, though names may be those of several kinds. */
  get id(): string {
    return `${this.spec.kind} ${this.spec.name}`;
  }

  get life(): Loaded | undefined {
    return this.#life;
  }

  /** Takes memory, be it that it comes, is there, or goes. */
  get resident(): boolean {
    return this.#life !== undefined;
  }

  /** Takes work, now or when it has come back from a crash. */
  get open(): boolean {
    return this.#life !== undefined && this.#leaving === undefined;
  }

  state(): EntryState {
    if (this.#leaving) return { type: 'leaving' };
    if (this.#life) return this.#life.state();
    return this.#failure === undefined ? { type: 'unloaded' } : { type: 'failed', reason: this.#failure };
  }

  listed(): Listed {
    const { name, kind } = this.spec;
    const bytes = this.#bytes();
    return {
      name,
      kind,
      state: this.state(),
      resident: this.resident,
      inUse: this.#uses,
      bytes,
      expiresAt: this.#life ? this.#expiresAt : Number.POSITIVE_INFINITY,
    };
  }

  asResident(): Resident {
    const { pinned = false, besides = false } = this.spec;
    const bytes = this.#bytes() ?? 0;
    return { id: this.id, bytes, lastUsed: this.#lastUsed, pinned, besides, busy: this.#uses > 0 };
  }

  async need(): Promise<number> {
    if (this.#measured !== undefined) return this.#measured;
    try {
      this.#estimated = await this.spec.need();
    } catch (error) {
      this.#failure = (error as Error).message;
      throw error;
    }
    return this.#estimated;
  }

  settled(): Promise<void> {
    return this.#life?.settled() ?? Promise.resolve();
  }

  /** Resolves at once unless it is on its way out. */
  gone(): Promise<void> {
    return this.#leaving ?? Promise.resolve();
  }

  /** Rejects with the reason when it cannot be loaded; then nothing is left of it. */
  async enter(): Promise<void> {
    this.#failure = undefined;
    let life: Loaded;
    try {
      life = this.spec.make();
      this.#life = life;
      life.start();
      await life.settled();
    } catch (error) {
      this.#life = undefined;
      this.#failure = (error as Error).message;
      throw error;
    }
    // Somebody may have ended it while it was coming.
    if (this.#life !== life || this.#leaving) throw new Error('it was unloaded while it was being loaded');
    const state = life.state();
    if (state.type === 'failed') {
      this.#life = undefined;
      this.#failure = state.reason;
      await life.stop();
      throw new Error(state.reason);
    }
    this.#lastUsed = this.parts.now();
    this.#plan();
  }

  take(): Use<Loaded> {
    const loaded = this.#life;
    if (!loaded) throw new Error('nothing is loaded that could be used');
    this.#uses += 1;
    this.#timer?.cancel();
    this.#lastUsed = this.parts.now();
    // Somebody who comes after a wish to let go at once wants it to stay: the wish is overtaken.
    if (this.#keepMs === 0) this.#keepMs = this.#defaultKeepMs();
    let released = false;
    return {
      name: this.spec.name,
      loaded,
      release: () => {
        if (released) return;
        released = true;
        this.#uses -= 1;
        this.#lastUsed = this.parts.now();
        if (this.#uses === 0) this.#drained?.();
        this.#plan();
      },
    };
  }

  keepFor(milliseconds: number): void {
    this.#keepMs = Math.max(0, milliseconds);
    this.#plan();
  }

  /** Ends its work and goes. */
  leave(why: UnloadReason): Promise<void> {
    const life = this.#life;
    if (!life) return Promise.resolve();
    this.#leaving ??= this.#leave(life, why);
    return this.#leaving;
  }

  /** Goes without waiting for anybody. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    const life = this.#life;
    this.#life = undefined;
    await life?.stop();
  }

  async #leave(life: Loaded, why: UnloadReason): Promise<void> {
    this.#timer?.cancel();
    this.#measured = life.bytes?.() ?? this.#measured;
    if (this.#uses > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
    this.#drained = undefined;
    await life.stop();
    if (this.#life === life) this.#life = undefined;
    // The wish was about this load: the next one stays as long as is usual.
    this.#keepMs = this.#defaultKeepMs();
    this.#leaving = undefined;
    this.onLeft(why);
  }

  #defaultKeepMs(): number {
    return Math.min(this.spec.keepMs ?? Number.POSITIVE_INFINITY, this.parts.defaultKeepMs());
  }

  #bytes(): number | undefined {
    return this.#life?.bytes?.() ?? this.#measured ?? this.#estimated;
  }

  #plan(): void {
    this.#timer?.cancel();
    this.#expiresAt = this.parts.now() + this.#keepMs;
    if (!this.#life || this.#leaving || this.#uses > 0 || this.#keepMs > longestTimer) return;
    this.#timer = this.parts.startTimer(this.#keepMs, () => this.#idle());
  }

  #idle(): void {
    if (!this.#life || this.#uses > 0) return;
    // One that is being loaded is on its way to somebody.
    if (this.#life.state().type === 'loading') this.#plan();
    else void this.leave('idle');
  }
}
