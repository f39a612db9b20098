import type { EditedImage, ImageEdit, ImageEditor } from '../../core/image-editing.ts';
import { TaskEngine, type TaskEngineDeps } from '../host/task-engine.ts';

type Engine = TaskEngine<object, object, EditTask, Edited>;

/** An idle worker is stopped after this time. */
const idleMs = 5 * 60_000;

/** Edits images in a worker process that starts on demand. */
export class ImageEditorHost implements ImageEditor {
  #engine: Engine | undefined;
  #running = 0;
  #idle: { cancel(): void } | undefined;

  constructor(private readonly deps: Pick<TaskEngineDeps<object, object>, 'entry' | 'spawn' | 'startTimer'>) {}

  async edit(
    edit: ImageEdit,
    images: readonly EditedImage[],
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Uint8Array | undefined> {
    signal.throwIfAborted();
    this.#idle?.cancel();
    this.#running += 1;
    try {
      let result: Uint8Array | undefined;
      for await (const { bytes } of this.#started().run({ edit, images }, signal)) result = bytes;
      return result;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#idle = this.deps.startTimer(idleMs, () => void this.stop());
    }
  }

  async stop(): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    this.#idle?.cancel();
    await engine?.stop();
  }

  /** A worker that failed to start is replaced. */
  #started(): Engine {
    if (this.#engine?.state().type === 'failed') this.#engine = undefined;
    this.#engine ??= new TaskEngine({ ...this.deps, capability: 'picture', options: {} });
    return this.#engine;
  }
}

export interface EditTask {
  readonly edit: ImageEdit;
  readonly images: readonly EditedImage[];
}

/** The encoded image. */
export type Edited = Pick<EditedImage, 'bytes'>;
