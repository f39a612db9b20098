import { join } from 'node:path';
import koffi from 'koffi';
import { mediaLibraryFolder } from '../../src/engines/llama/worker/load/library.ts';
import { declaring, openFabric } from '../../src/engines/llama/worker/native/native.ts';
import { asynchronous, type Pointer } from '../../src/engines/llama/worker/native/structs.ts';
import { Vocabulary } from '../../src/engines/llama/worker/text/vocabulary.ts';
import { indexOfHighest } from '../../src/sampling/sampler.ts';

export interface Question {
  readonly model: string;
  readonly projector: string;
  readonly file: Buffer;
  readonly before: string;
  readonly after: string;
  readonly count: number;
}

export interface Reference {
  /** The greedy reply to a picture between two texts, by the library's own way through a prompt. */
  reply(question: Question): Promise<{ readonly text: string; readonly promptTokens: number }>;
}

/** The library in the process of the test itself; it can be opened only once. */
export function openReference(): Reference {
  const folder = mediaLibraryFolder();
  const { native, media } = openFabric(folder);
  const declare = declaring(koffi.load(join(folder, 'qvac__fabric.bare')));
  const evaluate = asynchronous(
    declare(
      'int32 mtmd_helper_eval_chunks(pointer projector, pointer context, pointer chunks, int32 past, int32 sequence, int32 batchSize, bool logits, _Out_ int32 *newPast)',
    ),
  );
  const countTokens = declare('size_t mtmd_helper_get_n_tokens(pointer chunks)');
  // The smallest CPU build runs everywhere.
  const smallest = native.cpuVariants().at(-1);
  if (smallest) native.backendLoad(smallest);
  return { reply };

  async function reply(question: Question): Promise<{ readonly text: string; readonly promptTokens: number }> {
    const model = present(await native.modelLoad(question.model, { ...native.modelDefaults(), n_gpu_layers: 0 }));
    const sizes = { n_ctx: 1024, n_batch: 512, n_ubatch: 512, n_threads: 1, n_threads_batch: 1 };
    const context = present(native.contextNew(model, { ...native.contextDefaults(), ...sizes }));
    const quiet = { use_gpu: false, n_threads: 1, print_timings: false, image_max_tokens: 64 };
    const projector = present(
      await media.projectorNew(question.projector, model, { ...media.projectorDefaults(), ...quiet }),
    );
    const { bitmap } = await media.bitmapRead(projector, question.file, question.file.length, false);
    const chunks = media.chunksNew();
    const text = `${question.before}<__media__>${question.after}`;
    const input = { text, text_len: Buffer.byteLength(text), add_special: true, parse_special: true };
    await media.tokenize(projector, chunks, input, [present(bitmap)], 1);
    const past: [number | null] = [null];
    await evaluate(projector, context, chunks, 0, 0, 512, true, past);

    const vocabulary = new Vocabulary(native, native.modelVocabulary(model), { addBos: true });
    const batch = native.batchNew(1, 0, 1);
    const [token, position, sequences, lists] = [batch.token, batch.pos, batch.n_seq_id, batch.seq_id];
    const number = (pointer: Pointer) => new Int32Array(native.view(pointer, 4));
    const written: number[] = [];
    for (let index = 0; index < question.count; index += 1) {
      const logits = new Float32Array(native.view(present(native.logits(context, -1)), vocabulary.size * 4));
      const best = indexOfHighest(logits);
      written.push(best);
      number(token)[0] = best;
      number(position)[0] = (past[0] as number) + index;
      number(sequences)[0] = 1;
      number(new BigInt64Array(native.view(lists, 8))[0] as bigint)[0] = 0;
      new Int8Array(native.view(batch.logits, 1))[0] = 1;
      native.decodeNow(context, { ...batch, n_tokens: 1 });
    }
    return { text: vocabulary.detokenize(written, false), promptTokens: Number(countTokens(chunks)) };
  }
}

function present(pointer: Pointer | null): Pointer {
  if (!pointer) throw new Error('the library refused');
  return pointer;
}
