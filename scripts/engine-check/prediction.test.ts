import { expect, test } from 'vitest';
import { predictionDifferences, predictionGraphs } from './prediction.ts';

const source = {
  names: '{ LLM_ARCH_GLM4_MOE, "glm4moe" }, { LLM_ARCH_STEP35, "step35" }, { LLM_ARCH_LLAMA, "llama" },',
  classes:
    'case LLM_ARCH_GLM4_MOE:\n return new llama_model_glm(params); case LLM_ARCH_STEP35: return new llama_model_step(params);',
  models: [
    'llama_model_glm::build_arch_graph() { if (type == LLM_GRAPH_TYPE_DECODER_MTP) } GGML_ASSERT(n_layer_nextn == 1)',
    'llama_model_step::build_arch_graph() { if (type == LLM_GRAPH_TYPE_DECODER_MTP) }',
    'llama_model_llama::build_arch_graph() { }',
  ],
};

test('predictionGraphs: the architectures with a graph for multi-token prediction, and for how many layers', () => {
  expect([...predictionGraphs(source)]).toEqual([
    ['glm4moe', 'one'],
    ['step35', 'several'],
  ]);
});

test('predictionDifferences: names architectures that the source does not have, or has for another number of layers', () => {
  const other = { ...source, models: source.models.map((text) => text.replace('n_layer_nextn == 1', '')) };
  const sentences = predictionDifferences(other);
  expect(sentences).toContain('glm4moe has several of them in the source, and one here.');
  expect(sentences).toContain('mimo2 has no graph for them in the source.');
  expect(sentences.join()).not.toContain('step35');
});
