import type { ChatRequest } from '../../../chat/request.ts';
import type { GenerationEvent } from '../../../core/events.ts';
import type { TextState } from '../../../core/text-service.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { ImageContext } from '../../images/request.ts';
import { bindAll } from '../../testing/bind.ts';
import { dialectParts, finishEvent, scriptedChat, scriptedText, seeing, startEvent } from '../../testing/doubles.ts';
import { type FakeImage, pictureParts } from '../../testing/pictures.ts';
import { LastDrawings } from '../progress.ts';
import { sdapiEndpoints } from '../routes.ts';

export interface SdapiOptions extends Partial<ImageContext> {
  readonly state?: TextState;
  /** The caption of the text model. */
  readonly caption?: string;
}

/** The endpoints with a fake image model and a scripted vision model. */
export function sdapiWorld(fake: FakeImage | undefined, options: SdapiOptions = {}) {
  const { state = seeing(), caption = 'A red boat on a lake. It is', ...own } = options;
  const events: readonly GenerationEvent[] = [startEvent(), { type: 'text-delta', text: caption }, finishEvent()];
  const { chat, asked: chats } = scriptedChat(events);
  const { text } = scriptedText([], { state: () => state });
  const read: JsonObject[] = [];
  const readChat = async (body: JsonObject): Promise<ChatRequest> => {
    read.push(body);
    return { read: body } as unknown as ChatRequest;
  };
  const parts = { ...dialectParts(), ...pictureParts(fake, own), text, chat, readChat };
  const rows = sdapiEndpoints({ ...parts, last: new LastDrawings() });
  return {
    rows,
    endpoints: bindAll(rows, parts),
    chats,
    read,
  };
}
