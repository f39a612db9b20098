import type { Grammar } from '../src/core/request.ts';
import { GrammarCache } from '../src/engines/llama/worker/grammar.ts';
import { loadModel } from '../src/engines/llama/worker/load/model.ts';
import { workerOptions } from './options.ts';
import { pickMicroseconds } from './pick-time.ts';

/** The inside of a JSON string, where nearly all tokens may follow: the common case, and the dear one. */
const jsonText: Grammar = { gbnf: 'root ::= [^"\\\\]+', retainState: false };

// A program of its own, because the library writes much to standard error while it loads a model.
const [model = '', picks = ''] = process.argv.slice(2);
process.send?.(await grammarMicroseconds(model, Number(picks)));
process.exit(0);

async function grammarMicroseconds(model: string, picks: number): Promise<number> {
  const loaded = await loadModel(await workerOptions(model, ['--usecpu', '--contextsize', '512'], 1), () => {});
  const { vocabulary } = loaded;
  const grammar = new GrammarCache(vocabulary).take(jsonText);
  const extra = { vocabularySize: vocabulary.size, grammar };
  return pickMicroseconds({}, extra, picks, (token) => token >= 0 && !vocabulary.isEnd(token) && grammar.accept(token));
}
