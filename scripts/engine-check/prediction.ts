import { notRewound, predictionArchitectures } from '../../src/engines/llama/worker/open-draft.ts';

interface PredictionSource {
  /** The file with the names of architectures, and that with their classes. */
  readonly names: string;
  readonly classes: string;
  /** The files of the graphs. */
  readonly models: readonly string[];
}

/** How `predictionArchitectures` differs from a source, a sentence for each difference. */
export function predictionDifferences(source: PredictionSource): readonly string[] {
  const theirs = predictionGraphs(source);
  const sentences: string[] = [];
  for (const [name, layers] of theirs) {
    if (notRewound.has(name)) continue;
    const own = predictionArchitectures.get(name);
    if (own !== layers) sentences.push(`${name} has ${layers} of them in the source, and ${own ?? 'none'} here.`);
  }
  for (const name of predictionArchitectures.keys()) {
    if (!theirs.has(name)) sentences.push(`${name} has no graph for them in the source.`);
  }
  return sentences;
}

/** The architectures with a graph for these layers, and whether it is for a file with several of them. */
export function predictionGraphs({ names, classes, models }: PredictionSource): ReadonlyMap<string, 'one' | 'several'> {
  const architectures = new Map(
    [...names.matchAll(/\{\s*(LLM_ARCH_\w+),\s*"([^"]+)"\s*\}/g)].map(([, id, name]) => [id as string, name as string]),
  );
  const graphs = new Map<string, 'one' | 'several'>();
  for (const text of models) {
    if (!/== LLM_GRAPH_TYPE_DECODER_MTP/.test(text)) continue;
    const layers = /n_layer_nextn == 1/.test(text) ? 'one' : 'several';
    for (const [, model] of text.matchAll(/(llama_model_\w+)::build_arch_graph/g)) {
      const cases = classes.matchAll(new RegExp(`((?:case LLM_ARCH_\\w+:\\s*)+)return new ${model}\\(`, 'g'));
      for (const [, list = ''] of cases) {
        for (const [id] of list.matchAll(/LLM_ARCH_\w+/g)) graphs.set(architectures.get(id) ?? id, layers);
      }
    }
  }
  return graphs;
}
