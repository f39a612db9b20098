import { blobOf } from '../files/data-url.ts';
import type { Work } from '../notifications/rules.ts';
import { tellDone } from '../notifications/tell-done.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, resumeDrawing, startDrawing } from './drawing-task.ts';
import { drawingTexts } from './drawing-texts.ts';
import { base64Of, imageUrl } from './generated-images.ts';
import { pendingDrawings } from './pending-drawings.ts';

/** Images for a chat or a story, one at a time. `note` says where the image goes; it is kept, so that a reload loses nothing. */
export class InlineDrawing<Note extends { readonly prompt: string }> {
  /** The image that is being generated. */
  note = $state.raw<Note>();
  /** From 0 to 1. */
  progress = $state(0);
  /** base64 of a preview; empty if there is none yet. */
  preview = $state('');
  /** Id of the chat or story whose scene the model is describing. */
  describing = $state<string>();
  #description = new AbortController();
  #task: DrawingTask | undefined;
  readonly #pending;
  readonly #keep: (note: Note, image: Blob) => void | Promise<void>;
  readonly #about: (note: Note) => Pick<Work, 'title' | 'route'>;

  /** `keep` puts the image into the chat or the story, `about` tells which one that is. */
  constructor(
    kind: 'chat' | 'story',
    keep: (note: Note, image: Blob) => void | Promise<void>,
    about: (note: Note) => Pick<Work, 'title' | 'route'>,
  ) {
    this.#pending = pendingDrawings<Note>(kind);
    this.#keep = keep;
    this.#about = about;
  }

  async start(note: Note): Promise<void> {
    const body = { prompt: note.prompt, width: 512, height: 512 };
    const request = (genkey: string) => ({ path: 'sdapi/v1/txt2img', body: { ...body, genkey } });
    const started = startDrawing(request, (progress) => this.#show(progress));
    const end = this.#pending.add(started.genkey, note);
    await this.#finish(started, note).finally(end);
  }

  /** Generates an image of a scene that the model describes first. */
  async startDescribed(
    id: string,
    describe: (signal: AbortSignal) => Promise<string>,
    noteOf: (prompt: string) => Note,
  ): Promise<void> {
    if (this.describing !== undefined) return;
    this.describing = id;
    this.#description = new AbortController();
    const { signal } = this.#description;
    try {
      const prompt = await describe(signal);
      this.describing = undefined;
      await this.start(noteOf(prompt.replaceAll(/\s+/g, ' ').trim()));
    } catch (thrown) {
      if (!signal.aborted) notifyFailure(thrown);
    } finally {
      this.describing = undefined;
    }
  }

  stopDescribing(): void {
    this.#description.abort();
  }

  /** Finishes the images of pages that were closed. */
  async resume(): Promise<void> {
    await this.#pending.resume(({ genkey, note }) =>
      this.#finish(
        resumeDrawing(genkey, (progress) => this.#show(progress)),
        note,
      ),
    );
  }

  stop(): void {
    this.#task?.stop();
  }

  #show({ share, preview }: DrawingProgress): void {
    this.progress = share;
    if (preview !== '') this.preview = preview;
  }

  async #finish(task: DrawingTask, note: Note): Promise<void> {
    this.#task = task;
    this.note = note;
    this.progress = 0;
    this.preview = '';
    const since = Date.now();
    try {
      const [generated] = await task.images;
      if (generated === undefined) throw new Error(drawingTexts.none);
      await this.#keep(note, blobOf(imageUrl(base64Of(generated.image))));
      tellDone(() => ({ kind: 'image', since, ...this.#about(note) }));
      void import('../models/offers.ts').then(({ offerPack }) => offerPack('image'));
    } catch (thrown) {
      notifyFailure(thrown);
    } finally {
      this.#task = undefined;
      this.note = undefined;
    }
  }
}
