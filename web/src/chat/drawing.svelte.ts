import { read } from '../api/call.ts';
import { go } from '../app/navigation.svelte.ts';
import { tellFailure } from '../app/notices.svelte.ts';
import { newId } from './answering/ids.ts';
import { blobOf } from './attaching/bytes.ts';
import { change } from './library.svelte.ts';
import type { Turn } from './model/conversation.ts';
import { leafOf, withTurn } from './model/tree.ts';
import { chatOrNew } from './talk.ts';

/** A picture that is being drawn for a chat, and how far it is. */
export const drawing = $state<{ chatId: string | undefined; prompt: string; progress: number }>({
  chatId: undefined,
  prompt: '',
  progress: 0,
});
let stopDrawing: (() => void) | undefined;

export function stopPicture(): void {
  stopDrawing?.();
}

/** Draws what the words say; they and the picture become turns of the chat. */
export async function drawPicture(chatId: string | undefined, prompt: string): Promise<void> {
  const { id } = chatOrNew(chatId);
  if (chatId === undefined) go({ view: 'chat', id }, { replace: true });
  const blob = await drawn(id, prompt);
  if (!blob) return;
  const asked = newId();
  change(
    id,
    (chat) => {
      const parent = leafOf(chat)?.id ?? null;
      const question: Turn = { id: asked, parent, role: 'user', text: `Draw: ${prompt}`, at: Date.now() };
      return withTurn(withTurn(chat, question), pictureTurn(asked, prompt, blob));
    },
    { undoable: true },
  );
}

/** Another picture of the same words, as a branch beside the first one. */
export async function drawAgain(chatId: string, { parent, drawn: prompt = '' }: Turn): Promise<void> {
  const blob = await drawn(chatId, prompt);
  if (blob) change(chatId, (chat) => withTurn(chat, pictureTurn(parent, prompt, blob)), { undoable: true });
}

function pictureTurn(parent: string | null, prompt: string, blob: Blob): Turn {
  const attachments = [{ id: newId(), kind: 'image', name: prompt, blob } as const];
  return { id: newId(), parent, role: 'assistant', text: '', drawn: prompt, attachments, at: Date.now() };
}

async function drawn(chatId: string, prompt: string): Promise<Blob | undefined> {
  const genkey = `PRLY${newId()}`;
  const controller = new AbortController();
  stopDrawing = () => {
    read('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
    controller.abort();
  };
  Object.assign(drawing, { chatId, prompt, progress: 0 });
  const watch = setInterval(async () => {
    const { progress } = await read<{ progress: number }>('sdapi/v1/progress', { background: true }).catch(() => ({
      progress: 0,
    }));
    drawing.progress = Math.max(drawing.progress, progress);
  }, 700);
  try {
    const { images } = await read<{ images: readonly string[] }>('sdapi/v1/txt2img', {
      body: { prompt, width: 512, height: 512, genkey },
      signal: controller.signal,
    });
    const [image] = images;
    if (image === undefined) throw new Error('The server drew nothing.');
    return blobOf(image.startsWith('data:') ? image : `data:image/png;base64,${image}`);
  } catch (thrown) {
    tellFailure(thrown);
    return undefined;
  } finally {
    clearInterval(watch);
    drawing.chatId = undefined;
    stopDrawing = undefined;
  }
}
