/** The architectures of `general.architecture` that the pinned llama.cpp loads as models for text or embeddings; a test compares them with the library. */
const architectures: ReadonlySet<string> = new Set(
  (
    'afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bert bitnet bloom chameleon chatglm codeshell cogvlm ' +
    'cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr deepseek32 deepseek4 dots1 dots3note dream ernie4_5 ' +
    'ernie4_5-moe eurobert exaone exaone-moe exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n gemma4 glm-dsa glm4 ' +
    'glm4moe gpt-oss gpt2 gptj gptneox granite granite_swa granitehybrid granitemoe graniteswitch grok grovemoe hunyuan-dense hunyuan-moe ' +
    'hunyuan_vl hy_v3 internlm2 jais jais2 jamba jina-bert-v2 jina-bert-v3 kimi-k3 kimi-linear laguna lfm2 lfm2moe llada llada-moe llama ' +
    'llama-embed llama4 maincoder mamba mamba2 mellum mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3 mistral3 mistral4 ' +
    'modern-bert mpt muse-glimmer nanbeige nemotron nemotron_h nemotron_h_moe neo-bert nomic-bert nomic-bert-moe olmo olmo2 olmoe openelm ' +
    'orion paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe ' +
    'qwen3next qwen3vl qwen3vlmoe qwen4exp refact rnd1 rwkv6 rwkv6qwen2 rwkv7 seed_oss smallthinker smollm3 stablelm starcoder starcoder2 ' +
    'step35 t5 t5encoder talkie xverse'
  ).split(' '),
);

export function isSupportedArchitecture(name: string): boolean {
  return architectures.has(name);
}
