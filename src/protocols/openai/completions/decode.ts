import { refuseWithoutModel, type TextService } from '../../../core/text-service.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { CompletionContext, DialectContext } from '../../dialect.ts';
import { wrong } from '../../fields.ts';
import { findMarks, gapPrompt } from '../../fill-marks.ts';
import { nativeMedia } from '../../media.ts';
import { readCompletion } from '../../read-body.ts';
import { decodeDelivery, decodeOwnControls, decodePromptLogprobs, nativeBody, requestedTokens } from '../controls.ts';
import { unsupportedField } from '../errors.ts';
import { type CompletionFields, completionFields, type Prompt } from './fields.ts';

export type DecodedCompletion = Awaited<ReturnType<typeof decodeCompletion>>;

export async function decodeCompletion(body: JsonObject, context: CompletionContext) {
  const read = readCompletion(completionFields, body, context, nativeBody(body));
  const { fields, notices } = read;
  const { echo, logprobs, memory, n: replies } = fields;
  const prompts = await Promise.all(fields.prompt.map((prompt) => promptText(prompt, context.text)));
  const controls = await decodeOwnControls(read, context.text);
  const promptLogprobs = decodePromptLogprobs(fields);
  // An echo with logprobs includes those of the prompt.
  const counts = [promptLogprobs, echo ? logprobs : undefined].filter((count) => count !== undefined);
  const scored = counts.length === 0 ? undefined : Math.max(...counts);
  const silent = requestedTokens(fields) === 0;
  const asPrompt = await gapFiller(fields, context);
  const candidates = decodeCandidates(fields);
  // The best replies are chosen by their logprobs.
  const counted = logprobs ?? (candidates > replies ? 0 : undefined);
  const media = nativeMedia(fields, context.text.state());
  const requests = prompts.map(({ text, tokens }) => {
    const texts = { prompt: asPrompt(text), memory, stop: controls.stop };
    const replaces = fields.replace_instruct_placeholders && !tokens;
    const written = replaces ? context.replacePlaceholders(texts) : texts;
    return {
      ...controls,
      ...written,
      ...(tokens && { promptTokens: tokens }),
      ...(silent && { maxTokens: 0 }),
      ...(scored !== undefined && { promptLogprobs: scored }),
      media,
      stop: written.stop.filter((stop) => stop !== ''),
      logprobs: counted,
    };
  });
  return {
    ...decodeDelivery(fields),
    /** One for each prompt; each is generated `candidates` times, and the best `replies` of them are sent. */
    requests,
    /** The text in front of each reply to the prompt at the same index. With logprobs it is what the model read. */
    echoes: prompts.map(({ text }, index) =>
      echo ? ((scored === undefined ? undefined : requests[index]?.prompt) ?? text) : '',
    ),
    replies,
    candidates,
    /** Nothing is generated, and of the prompts only the lengths are reported. */
    countOnly: silent && scored === undefined,
    /** The number of alternatives for each token of the reply, and of the prompt; undefined reports no logprobs. */
    logprobs,
    promptLogprobs,
    notices,
  };
}

/** Clients send 1 for "not used", whatever n is. */
function decodeCandidates({ best_of: candidates, n: replies, stream }: CompletionFields): number {
  if (candidates === 1) return replies;
  if (candidates < replies) throw wrong('best_of', 'at least as large as n');
  if (stream && candidates > replies) throw wrong('best_of', 'left out of streams: the best is known only at the end');
  return candidates;
}

/** The text of a prompt, and its tokens if it was sent as tokens. */
async function promptText(prompt: Prompt, text: Pick<TextService, 'detokenize' | 'state'>) {
  if (typeof prompt === 'string') return { text: prompt, tokens: undefined };
  const state = text.state();
  const size = state.type === 'ready' ? state.model.vocabularySize : Number.POSITIVE_INFINITY;
  if (!prompt.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    throw wrong('prompt', `made of token numbers of this model, which are whole and below ${size}`);
  }
  return { text: await text.detokenize(prompt, { renderSpecial: true }), tokens: prompt };
}

/** Makes infill prompts of the texts before a gap, if the request has a text after it. */
async function gapFiller(
  { suffix, prompt, echo, logprobs }: CompletionFields,
  { text }: Pick<DialectContext, 'text'>,
): Promise<(before: string) => string> {
  if (!suffix) return (before) => before;
  // Between the marks of a gap the prompt would be another text.
  if (echo && logprobs !== undefined) throw unsupportedField('suffix', 'it does not go with echo and logprobs');
  if (prompt.some((one) => typeof one !== 'string')) {
    throw unsupportedField('suffix', 'it goes only with prompts that are texts');
  }
  const search = await findMarks(text);
  refuseWithoutModel(text.state());
  if (search.type === 'found') return (before) => gapPrompt(search.marks, before, suffix);
  throw unsupportedField('suffix', 'this model has no marks for a gap in a text; send only the text before it');
}
