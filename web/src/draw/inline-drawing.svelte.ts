import { blobOf } from '../files/data-url.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';
import { type DrawingTask, resumeDrawing, startDrawing } from './drawing-task.ts';
import { drawingTexts } from './drawing-texts.ts';
import { base64Of, imageUrl } from './image-request.ts';
import { pendingDrawings } from './pending-drawings.ts';

/** Images for a chat or a story, one at a time. `note` says where the image goes; it is kept, so that a reload loses nothing. */
export class InlineDrawing<Note extends { readonly prompt: string }> {
  /** The image that is being generated. */
  note = $state.raw<Note>();
  /** From 0 to 1. */
  progress = $state(0);
  #task: DrawingTask | undefined;
  readonly #pending;
  readonly #keep: (note: Note, image: Blob) => void | Promise<void>;

  /** `keep` puts the image into the chat or the story. */
  constructor(kind: 'chat' | 'story', keep: (note: Note, image: Blob) => void | Promise<void>) {
    this.#pending = pendingDrawings<Note>(kind);
    this.#keep = keep;
  }

  async start(note: Note): Promise<void> {
    const body = { prompt: note.prompt, width: 512, height: 512 };
    const request = (genkey: string) => ({ path: 'sdapi/v1/txt2img', body: { ...body, genkey } });
    const started = startDrawing(request, ({ share }) => this.#show(share));
    const end = this.#pending.add(started.genkey, note);
    await this.#finish(started, note).finally(end);
  }

  /** Finishes the images of pages that were closed. */
  async resume(): Promise<void> {
    await this.#pending.resume(({ genkey, note }) =>
      this.#finish(
        resumeDrawing(genkey, ({ share }) => this.#show(share)),
        note,
      ),
    );
  }

  stop(): void {
    this.#task?.stop();
  }

  #show(share: number): void {
    this.progress = share;
  }

  async #finish(task: DrawingTask, note: Note): Promise<void> {
    this.#task = task;
    this.note = note;
    this.progress = 0;
    try {
      const [picture] = await task.pictures;
      if (picture === undefined) throw new Error(drawingTexts.none);
      await this.#keep(note, blobOf(imageUrl(base64Of(picture.image))));
      void import('../models/offers.ts').then(({ offerPack }) => offerPack('image'));
    } catch (thrown) {
      notifyFailure(thrown);
    } finally {
      this.#task = undefined;
      this.note = undefined;
    }
  }
}
