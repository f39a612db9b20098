import type { TokenChoice, TokenLogprob } from '../../core/events.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';

/** Most engines do not tell the number of a token. */
const unknownToken = -1;

/** The figures of chats, `{"content": [...]}`; undefined where there are none. */
export function chatLogprobs(logprobs: unknown): readonly TokenLogprob[] | undefined {
  const entries = listAt(objectAt(logprobs).content);
  return entries.length === 0 ? undefined : entries.map(tokenOf);
}

/** Those of plain texts: in the form of chats where the engine has it, otherwise in the old form of lists. */
export function completionLogprobs(logprobs: unknown): readonly TokenLogprob[] | undefined {
  const told = chatLogprobs(logprobs);
  if (told) return told;
  const { tokens, token_logprobs: figures, top_logprobs: tops, token_ids: ids } = objectAt(logprobs);
  const texts = listAt(tokens);
  if (texts.length === 0) return undefined;
  return texts.map((text, place) => {
    const others = Object.entries(objectAt(listAt(tops)[place]));
    const top = others.map(([other, figure]) => choiceOf(other, figure, unknownToken));
    const own = choiceOf(textAt(text) ?? '', listAt(figures)[place], numberAt(listAt(ids)[place]) ?? unknownToken);
    return { ...own, top: top.sort((a, b) => b.logprob - a.logprob) };
  });
}

function tokenOf(entry: unknown): TokenLogprob {
  return { ...entryOf(entry), top: listAt(objectAt(entry).top_logprobs).map(entryOf) };
}

function entryOf(entry: unknown): TokenChoice {
  const { token, logprob, bytes, id } = objectAt(entry);
  const choice = choiceOf(textAt(token) ?? '', logprob, numberAt(id) ?? unknownToken);
  const told = listAt(bytes).filter((byte) => typeof byte === 'number');
  return told.length > 0 ? { ...choice, bytes: told } : choice;
}

function choiceOf(text: string, logprob: unknown, token: number): TokenChoice {
  return { token, text, bytes: [...Buffer.from(text)], logprob: numberAt(logprob) ?? Number.NEGATIVE_INFINITY };
}
