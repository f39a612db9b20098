import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';
import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import type { TextService } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { ignoredIn } from '../dialect.ts';
import { bodyOf } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { mediaInputs } from '../media.ts';
import { parseInfotext } from '../pictures/infotext.ts';
import { pictureTexts } from '../pictures/picture-facts.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';
import { ticketFor } from '../ticket.ts';
import { interrogateFidelity, interrogateFields, pngInfoFields } from './fields.ts';

export interface InterrogateParts {
  readonly text: Pick<TextService, 'state'>;
  readonly chat: Pick<ChatService, 'reply'>;
  /** Decodes a chat of the OpenAI dialect. */
  readonly readChat: (body: JsonObject) => Promise<ChatRequest>;
}

const instruction = 'Describe this picture in a single sentence, as its caption. Write nothing but the caption.';
const longestCaption = 150;

export async function interrogate(call: Call, { text, chat, readChat }: InterrogateParts): Promise<Reply> {
  const body = await bodyOf(call);
  const { image, genkey } = readFields(interrogateFields, body);
  const state = text.state();
  if (state.type === 'none' || !mediaInputs(state).image) {
    throw new AppError('model-missing', { capability: 'vision', flag: '--mmproj FILE' });
  }
  const asked = { messages: [question(image)], max_tokens: longestCaption, reasoning_effort: 'none' };
  // Without tools, including those of the server.
  const request = { ...(await readChat(asked)), toolChoice: { type: 'none' } as const };
  const caption = wholeSentences((await fold(chat.reply(request, ticketFor(call, genkey)))).text);
  return json({ caption }, 200, ignoredIn(body, interrogateFidelity));
}

function question({ format, bytes }: SentPicture): object {
  const url = `data:image/${format};base64,${Buffer.from(bytes).toString('base64')}`;
  return {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: instruction },
    ],
  };
}

/** Cut after the last end of a sentence, if there is one. */
function wholeSentences(text: string): string {
  const words = text.trim();
  const last = [...words.matchAll(/[.!?*")}`\];…\n]/g)].at(-1);
  return last === undefined ? words : words.slice(0, last.index + 1).trim();
}

/** The infotext of a picture. */
export async function pngInfo(call: Call): Promise<Reply> {
  const body = await bodyOf(call);
  const { parameters: info = '', ...items } = pictureTexts(readFields(pngInfoFields, body).image.bytes);
  return json({ info, items, parameters: info === '' ? {} : parseInfotext(info) });
}
