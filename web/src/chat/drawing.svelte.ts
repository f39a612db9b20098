import { read } from '../api/call.ts';
import { go } from '../app/navigation.svelte.ts';
import { tellFailure } from '../app/notices.svelte.ts';
import { newId } from './answering/ids.ts';
import { blobOf } from './attaching/bytes.ts';
import { change } from './library.svelte.ts';
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
export async function drawPicture(chatId: string | undefined, prompt: string): Promise<boolean> {
  const genkey = `PRLY${newId()}`;
  const controller = new AbortController();
  const chat = chatOrNew(chatId);
  if (chatId === undefined) go({ view: 'chat', id: chat.id }, { replace: true });
  stopDrawing = () => {
    read('api/extra/abort', { body: { genkey }, background: true }).catch(() => {});
    controller.abort();
  };
  Object.assign(drawing, { chatId: chat.id, prompt, progress: 0 });
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
    const blob = blobOf(image.startsWith('data:') ? image : `data:image/png;base64,${image}`);
    const asked = newId();
    change(
      chat.id,
      (now) => {
        const parent = leafOf(now)?.id ?? null;
        const question = withTurn(now, { id: asked, parent, role: 'user', text: `Draw: ${prompt}`, at: Date.now() });
        const attachments = [{ id: newId(), kind: 'image', name: prompt, blob } as const];
        return withTurn(question, {
          id: newId(),
          parent: asked,
          role: 'assistant',
          text: '',
          drawn: prompt,
          attachments,
          at: Date.now(),
        });
      },
      { undoable: true },
    );
    return true;
  } catch (thrown) {
    tellFailure(thrown);
    return false;
  } finally {
    clearInterval(watch);
    drawing.chatId = undefined;
    stopDrawing = undefined;
  }
}
