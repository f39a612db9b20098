import { call } from '../api/call.ts';
import { notifyFailure } from '../app/notices.svelte.ts';
import { type DrawingTask, resumeDrawing, startDrawing } from '../draw/drawing-task.ts';
import { base64Of, imageUrl } from '../draw/image-request.ts';
import { pendingDrawings } from '../draw/pending-drawings.ts';
import { blobOf } from '../files/data-url.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { type Illustration, type Story, textOf } from '../story/story.ts';
import { library, storyRecords } from './library.svelte.ts';
import { texts } from './texts.ts';

/** The image that is being made for a story; without a prompt, the model is still describing the scene. */
export const illustrating = $state<{ story: string | undefined; prompt: string; progress: number }>({
  story: undefined,
  prompt: '',
  progress: 0,
});
let stopCurrent: () => void = () => {};

/** Where the image goes. */
type Note = Pick<Illustration, 'passage' | 'prompt'> & { readonly story: string };
const pending = pendingDrawings<Note>('story');

const sceneTokens = 120;
/** The end of a story that the model reads, in characters. */
const sceneLength = 3000;

export function stopIllustration(): void {
  stopCurrent();
}

/** Asks the model what the last scene looks like, and draws it after the last passage. */
export async function illustrate(story: Story): Promise<void> {
  const last = story.passages.at(-1);
  if (!last || illustrating.story !== undefined) return;
  Object.assign(illustrating, { story: story.id, prompt: '', progress: 0 });
  try {
    const prompt = await describedScene(story);
    const body = { prompt, width: 512, height: 512 };
    const started = startDrawing((genkey) => ({ path: 'sdapi/v1/txt2img', body: { ...body, genkey } }), show);
    const note = { story: story.id, passage: last.id, prompt };
    const end = pending.add(started.genkey, note);
    await finish(started, note).finally(end);
  } catch (thrown) {
    if (!isAbort(thrown)) notifyFailure(thrown);
  } finally {
    illustrating.story = undefined;
  }
}

export function removeIllustration(story: string, id: string): void {
  setIllustrations(story, (list) => list.filter((one) => one.id !== id));
}

void storyRecords.load().then(() => pending.resume(({ genkey, note }) => finish(resumeDrawing(genkey, show), note)));

async function describedScene(story: Story): Promise<string> {
  const controller = new AbortController();
  const genkey = `PRLY${newId()}`;
  stopCurrent = () => {
    call('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
    controller.abort();
  };
  const text = story.passages.map(textOf).join('').slice(-sceneLength);
  const response = await call('v1/chat/completions', {
    signal: controller.signal,
    body: {
      ...settings.sampling,
      messages: [{ role: 'user', content: `${text}\n\n${texts.illustration.instruction}` }],
      max_tokens: sceneTokens,
      genkey,
      ...(chosenModel() === undefined ? {} : { model: chosenModel() }),
    },
  });
  const { choices } = (await response.json()) as { choices: readonly { message: { content: string | null } }[] };
  const described = choices[0]?.message.content?.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (described === '') throw new Error(texts.illustration.notDescribed);
  return described;
}

async function finish(started: DrawingTask, { story, passage, prompt }: Note): Promise<void> {
  stopCurrent = started.stop;
  Object.assign(illustrating, { story, prompt, progress: 0 });
  try {
    const [picture] = await started.pictures;
    if (picture === undefined) throw new Error(texts.illustration.none);
    const blob = blobOf(imageUrl(base64Of(picture.image)));
    setIllustrations(story, (list) => [...list, { id: newId(), passage, prompt, blob }]);
  } catch (thrown) {
    if (!isAbort(thrown)) notifyFailure(thrown);
  } finally {
    illustrating.story = undefined;
  }
}

/** Saved at once: what a closing page keeps for the next load has no images. */
function setIllustrations(story: string, make: (list: readonly Illustration[]) => readonly Illustration[]): void {
  const change = (now: Story): Story => ({ ...now, illustrations: make(now.illustrations ?? []) });
  library.change(story, change, { undoable: true });
}

function show({ share }: { readonly share: number }): void {
  illustrating.progress = share;
}

function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === 'AbortError';
}
