import { addressOf } from '../api/address.ts';
import { serverEvents } from '../api/events.ts';
import { ask, problemsOf } from './ask.ts';
import type { Checked, Field, Form, ServerState, Values } from './values.ts';

type ConsoleEvent =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'state'; readonly state: ServerState }
  | { readonly type: 'clear' };

const keptLines = 2000;

/** State of the page: the settings, and the server started with them. */
export class Launcher {
  form = $state.raw<Form>();
  values = $state<Values>({});
  problems = $state<readonly string[]>([]);
  notes = $state<readonly string[]>([]);
  state = $state.raw<ServerState>({ type: 'idle' });
  lines = $state<string[]>([]);
  command = $state<readonly string[]>([]);
  /** Engine programs of the file that was read, until the person has decided about them. */
  programs = $state<readonly string[]>([]);
  gone = $state(false);

  async begin(): Promise<void> {
    await this.#attempt(async () => {
      const form = await ask<Form>('form');
      this.form = form;
      this.values = { ...form.values };
      this.programs = form.programs;
      this.notes = form.notes;
      this.state = form.state;
      void this.#listen();
    });
  }

  field(key: string): Field | undefined {
    return this.form?.fields[key];
  }

  get busy(): boolean {
    return ['starting', 'running', 'stopping'].includes(this.state.type);
  }

  async check(): Promise<void> {
    await this.#attempt(async () => {
      const { problems, command } = await ask<Checked>('check', { values: this.values });
      this.problems = problems;
      this.command = command;
    });
  }

  async launch(): Promise<boolean> {
    this.problems = [];
    return this.#attempt(async () => {
      const { notes } = await ask<{ notes: readonly string[] }>('launch', { values: this.values });
      this.notes = notes;
    });
  }

  async stop(): Promise<void> {
    await this.#attempt(() => ask('stop', {}));
  }

  async quit(): Promise<void> {
    await ask('quit', {}).catch(() => undefined);
    this.gone = true;
  }

  async load(path: string): Promise<void> {
    await this.#attempt(async () => {
      const { values, programs, notes } = await ask<Pick<Form, 'values' | 'programs' | 'notes'>>('load', { path });
      this.values = { ...values };
      this.programs = programs;
      this.notes = notes;
      this.problems = [];
    });
  }

  /** The programs of the file: without consent they stay out of the settings, and so of every launch. */
  decide(allowed: boolean): void {
    if (allowed) this.values.engine = this.programs;
    this.programs = [];
  }

  /** False if the work has failed; the problems say why. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.problems = problemsOf(error);
      return false;
    }
  }

  /** Follows the console until the launcher quits. */
  async #listen(): Promise<void> {
    while (!this.gone) {
      try {
        const { body } = await fetch(addressOf('launcher/console'));
        if (!body) return;
        this.lines = [];
        for await (const { data } of serverEvents(body)) this.#hear(JSON.parse(data) as ConsoleEvent);
      } catch {
        // Retried below.
      }
      if (!this.gone) await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }

  #hear(event: ConsoleEvent): void {
    if (event.type === 'clear') this.lines = [];
    else if (event.type === 'state') this.state = event.state;
    else {
      this.lines.push(event.text);
      if (this.lines.length > keptLines) this.lines.splice(0, this.lines.length - keptLines);
    }
  }
}
