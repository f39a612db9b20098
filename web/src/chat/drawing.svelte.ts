import { go } from '../app/navigation.svelte.ts';
import { notifyFailure } from '../app/notices.svelte.ts';
import { type DrawingProgress, type DrawingTask, resumeDrawing, startDrawing } from '../draw/drawing-task.ts';
import { base64Of, imageUrl } from '../draw/image-request.ts';
import { pendingDrawings } from '../draw/pending-drawings.ts';
import { blobOf } from '../files/data-url.ts';
import { newId } from '../saved/id.ts';
import { chatOrNew } from './actions.ts';
import { change, libraryLoaded } from './library.svelte.ts';
import type { Turn } from './model/conversation.ts';
import { leafOf, withTurn } from './model/tree.ts';

/** The image that is being generated for a chat. */
export const drawing = $state<{ chatId: string | undefined; prompt: string; progress: number }>({
  chatId: undefined,
  prompt: '',
  progress: 0,
});
let task: DrawingTask | undefined;

export function stopPicture(): void {
  task?.stop();
}

/** Where the image goes. */
interface Note {
  readonly chatId: string;
  readonly prompt: string;
  /** Another version below this turn; without it the prompt becomes a message too, unless it is a picture of the scene. */
  readonly version?: { readonly parent: string | null };
  readonly scene?: boolean;
}
const pending = pendingDrawings<Note>('chat');

/** Generates an image; the prompt and the image become turns of the chat. A picture of the scene has no question. */
export async function drawPicture(
  chatId: string | undefined,
  prompt: string,
  { asked: withQuestion = true } = {},
): Promise<void> {
  const { id } = chatOrNew(chatId);
  if (chatId === undefined) go({ view: 'chat', id }, { replace: true });
  await start({ chatId: id, prompt, ...(withQuestion ? {} : { scene: true }) });
}

/** Adds another image for the same prompt as a version. */
export async function drawAgain(chatId: string, { parent, drawn: prompt = '' }: Turn): Promise<void> {
  await start({ chatId, prompt, version: { parent } });
}

async function start(note: Note): Promise<void> {
  const body = { prompt: note.prompt, width: 512, height: 512 };
  const started = startDrawing((genkey) => ({ path: 'sdapi/v1/txt2img', body: { ...body, genkey } }), show);
  const end = pending.add(started.genkey, note);
  await finish(started, note).finally(end);
}

void libraryLoaded().then(() => pending.resume(({ genkey, note }) => finish(resumeDrawing(genkey, show), note)));

async function finish(started: DrawingTask, note: Note): Promise<void> {
  const { chatId, prompt, version, scene } = note;
  const blob = await drawn(started, note);
  if (!blob) return;
  const asked = newId();
  change(
    chatId,
    (chat) => {
      if (version) return withTurn(chat, pictureTurn(version.parent, prompt, blob));
      const parent = leafOf(chat)?.id ?? null;
      if (scene) return withTurn(chat, pictureTurn(parent, prompt, blob));
      const question: Turn = { id: asked, parent, role: 'user', text: `Draw: ${prompt}`, at: Date.now() };
      return withTurn(withTurn(chat, question), pictureTurn(asked, prompt, blob));
    },
    { undoable: true },
  );
}

function pictureTurn(parent: string | null, prompt: string, blob: Blob): Turn {
  const attachments = [{ id: newId(), kind: 'image', name: prompt, blob } as const];
  return { id: newId(), parent, role: 'assistant', text: '', drawn: prompt, attachments, at: Date.now() };
}

function show({ share }: DrawingProgress): void {
  drawing.progress = share;
}

async function drawn(started: DrawingTask, { chatId, prompt }: Note): Promise<Blob | undefined> {
  task = started;
  Object.assign(drawing, { chatId, prompt, progress: 0 });
  try {
    const [picture] = await started.pictures;
    if (picture === undefined) throw new Error('The server returned no image.');
    return blobOf(imageUrl(base64Of(picture.image)));
  } catch (thrown) {
    notifyFailure(thrown);
    return undefined;
  } finally {
    drawing.chatId = undefined;
    task = undefined;
  }
}
