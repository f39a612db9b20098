import type { Attachment, Turn } from '../conversations/conversation.ts';
import { imageSize } from '../conversations/image-size.ts';
import { change, chatOrNew, chatRecords } from '../conversations/library.svelte.ts';
import { leafOf, withTurn } from '../conversations/tree.ts';
import { InlineDrawing } from '../draw/inline-drawing.svelte.ts';
import { newId } from '../saved/id.ts';
import { go } from '../ui/navigation.svelte.ts';

/** Where the image goes. */
interface Note {
  readonly chatId: string;
  readonly prompt: string;
  /** Another version below this turn; without it the prompt becomes a message too, unless it is a picture of the scene. */
  readonly version?: { readonly parent: string | null };
  readonly scene?: boolean;
}

/** The image that is being generated for a chat. */
export const drawing = new InlineDrawing<Note>('chat', put, ({ chatId }) => ({
  title: chatRecords.find(chatId)?.title || document.title,
  route: { view: 'chat', id: chatId },
}));
void chatRecords.load().then(() => drawing.resume());

/** Generates an image; the prompt and the image become turns of the chat. */
export async function generateImage(chatId: string | undefined, prompt: string): Promise<void> {
  const { id } = chatOrNew(chatId);
  if (chatId === undefined) go({ view: 'chat', id }, { replace: true });
  await drawing.start({ chatId: id, prompt });
}

/** Adds another image for the same prompt as a version. */
export async function drawAgain(chatId: string, { parent, drawn: prompt = '' }: Turn): Promise<void> {
  await drawing.start({ chatId, prompt, version: { parent } });
}

async function put({ chatId, prompt, version, scene }: Note, blob: Blob): Promise<void> {
  const questionId = newId();
  const size = await imageSize(blob);
  const image = { id: newId(), kind: 'image', name: prompt, blob, ...(size ? { size } : {}) } as const;
  change(
    chatId,
    (chat) => {
      if (version) return withTurn(chat, imageTurn(version.parent, prompt, image));
      const parent = leafOf(chat)?.id ?? null;
      if (scene) return withTurn(chat, imageTurn(parent, prompt, image));
      const question: Turn = { id: questionId, parent, role: 'user', text: `Draw: ${prompt}`, at: Date.now() };
      return withTurn(withTurn(chat, question), imageTurn(questionId, prompt, image));
    },
    { undoable: true },
  );
}

function imageTurn(parent: string | null, prompt: string, image: Attachment): Turn {
  return { id: newId(), parent, role: 'assistant', text: '', drawn: prompt, attachments: [image], at: Date.now() };
}
