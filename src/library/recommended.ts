import type { Recommendation } from '../core/models-view.ts';

/** When the list was last checked. */
export const recommendedDate = '2026-10';

/** A recommendation, and the memory that it needs. */
interface RecommendedEntry extends Recommendation {
  /** Gigabytes of the class: on GPUs, or of the machine where it has none. */
  readonly memory: 1 | 2 | 4 | 8 | 16 | 24 | 48;
  /** `general.architecture` of the file; null where the text engine does not load it. */
  readonly architecture: string | null;
  /** A mixture of experts reads a small part of itself per token: it is fast enough in main memory, too. */
  readonly mixture: boolean;
}

interface HubFile {
  readonly name: string;
  /** `owner/name:TAG`. */
  readonly model: string;
  /** By default `name-TAG.gguf`, without the `-GGUF` of the repository. */
  readonly file?: string;
  readonly sha256: string;
  /** Of the file, and of its projector where that size is known. */
  readonly bytes: number;
  readonly architecture: string;
  readonly mixture?: boolean;
  readonly licence?: string;
}

/** Size and SHA-256 as several public records agree on them. */
const files = {
  qwen800m: {
    name: 'Qwen3.5 0.8B',
    model: 'unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M',
    sha256: 'bd258782e35f7f458f8aced1adc053e6e92e89bc735ba3be89d38a06121dc517',
    bytes: 532_517_120,
    architecture: 'qwen35',
  },
  qwen2b: {
    name: 'Qwen3.5 2B',
    model: 'unsloth/Qwen3.5-2B-GGUF:Q4_K_M',
    sha256: 'aaf42c8b7c3cab2bf3d69c355048d4a0ee9973d48f16c731c0520ee914699223',
    bytes: 1_280_835_840,
    architecture: 'qwen35',
  },
  qwen4b: {
    name: 'Qwen3.5 4B',
    model: 'unsloth/Qwen3.5-4B-GGUF:Q4_K_M',
    sha256: '00fe7986ff5f6b463e62455821146049db6f9313603938a70800d1fb69ef11a4',
    bytes: 2_740_937_888,
    architecture: 'qwen35',
  },
  qwen9b: {
    name: 'Qwen3.5 9B',
    model: 'unsloth/Qwen3.5-9B-GGUF:Q4_K_M',
    sha256: '03b74727a860a56338e042c4420bb3f04b2fec5734175f4cb9fa853daf52b7e8',
    bytes: 5_680_522_464,
    architecture: 'qwen35',
  },
  gemmaE2b: {
    name: 'Gemma 4 E2B',
    model: 'unsloth/gemma-4-E2B-it-qat-GGUF:UD-Q4_K_XL',
    sha256: 'e531007218dfab990486a5de7676a6932d6ea8dea233d1f698d7c21cf8a16889',
    bytes: 2_620_370_976,
    architecture: 'gemma4',
  },
  gemmaE4b: {
    name: 'Gemma 4 E4B',
    model: 'unsloth/gemma-4-E4B-it-qat-GGUF:UD-Q4_K_XL',
    sha256: 'df0fd4ee07072c607c29a0a1cb4f98918426cca12f45a2776bdd6ee6d09a4de3',
    bytes: 4_215_695_776 + 991_552_320,
    architecture: 'gemma4',
  },
  gemma12b: {
    name: 'Gemma 4 12B',
    model: 'unsloth/gemma-4-12B-it-qat-GGUF:UD-Q4_K_XL',
    sha256: '90fd44e29e0d7cffeb0fd00dc73cfdab9ed0b0e95306ecf7821ea634c940c370',
    bytes: 6_716_356_800,
    architecture: 'gemma4',
  },
  gptOss20b: {
    name: 'gpt-oss 20B',
    model: 'ggml-org/gpt-oss-20b-GGUF:MXFP4',
    file: 'gpt-oss-20b-mxfp4.gguf',
    sha256: 'be37a636aca0fc1aae0d32325f82f6b4d21495f06823b5fbc1898ae0303e9935',
    bytes: 12_109_566_560,
    architecture: 'gpt-oss',
    mixture: true,
  },
  gemma26b: {
    name: 'Gemma 4 26B-A4B',
    model: 'unsloth/gemma-4-26B-A4B-it-qat-GGUF:UD-Q4_K_XL',
    sha256: 'a7c5bc715f5ff8e99a3e8901ce7d2b42b402c669bf24f7c5250747633d0f5891',
    bytes: 14_249_047_104 + 1_194_828_256,
    architecture: 'gemma4',
    mixture: true,
  },
  gemma31b: {
    name: 'Gemma 4 31B',
    model: 'unsloth/gemma-4-31B-it-qat-GGUF:UD-Q4_K_XL',
    sha256: '00b5a7c497f0c8934033088c10a7fa9a4c015e46ee6d89e9c6890650ba5d0e71',
    bytes: 17_287_670_048 + 1_200_726_496,
    architecture: 'gemma4',
  },
  qwen27b: {
    name: 'Qwen3.6 27B',
    model: 'unsloth/Qwen3.6-27B-GGUF:Q4_K_M',
    sha256: '5ed60d0af4650a854b1755bd392f9aef4872643dc25a254bc68043fa638392a0',
    bytes: 16_817_244_384,
    architecture: 'qwen35',
  },
  qwen27bLarge: {
    name: 'Qwen3.6 27B',
    model: 'unsloth/Qwen3.6-27B-GGUF:Q8_0',
    sha256: 'f93f517f38e696d35a1a7df2c0e3155a64f4c4dcd662107a146ae263f7fb14ce',
    bytes: 28_595_763_424,
    architecture: 'qwen35',
  },
  qwen35bLarge: {
    name: 'Qwen3.6 35B-A3B',
    model: 'unsloth/Qwen3.6-35B-A3B-GGUF:Q8_0',
    sha256: 'd1a395809f65a43a13ad119eb4e7acdef1ac6d68120f39902c8ab96e72794a59',
    bytes: 36_903_140_320,
    architecture: 'qwen35moe',
    mixture: true,
  },
  qwenCoder30b: {
    name: 'Qwen3 Coder 30B-A3B',
    model: 'unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q4_K_M',
    sha256: 'fadc3e5f8d42bf7e894a785b05082e47daee4df26680389817e2093056f088ad',
    bytes: 18_556_689_568,
    architecture: 'qwen3moe',
    mixture: true,
  },
  qwenEmbedding: {
    name: 'Qwen3 Embedding 0.6B',
    model: 'Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0',
    sha256: '06507c7b42688469c4e7298b0a1e16deff06caf291cf0a5b278c308249c3e439',
    bytes: 639_150_592,
    architecture: 'qwen3',
  },
  nomic: {
    name: 'Nomic Embed Text 1.5',
    model: 'nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0',
    file: 'nomic-embed-text-v1.5.Q8_0.gguf',
    sha256: '3e24342164b3d94991ba9692fdc0dd08e3fd7362e0aacc396a9a5c54a544c3b7',
    bytes: 146_146_432,
    architecture: 'nomic-bert',
  },
} as const satisfies Readonly<Record<string, HubFile>>;

type Purpose = Recommendation['purpose'];
type Memory = RecommendedEntry['memory'];

function take(purpose: Purpose, memory: Memory, key: keyof typeof files, why: string): RecommendedEntry {
  const hubFile: HubFile = files[key];
  const [name = '', tag] = hubFile.model.replace(/^.*\//, '').split(':');
  const file = `${name.replace(/-GGUF$/, '')}-${tag}.gguf`;
  // Projectors are read by the engine of this pack.
  const pack = purpose === 'vision' ? 'vision' : null;
  return { purpose, memory, mixture: false, licence: 'Apache-2.0', search: null, pack, file, ...hubFile, why };
}

/** What is not one file of the hub. */
const noFile = { model: null, search: null, file: null, sha256: null, bytes: null, pack: null } as const;
const voicesLicence = 'Apache-2.0; eSpeak NG for the pronunciation GPL-3.0';

/** Smallest memory first for each purpose; of two with the same memory, the better one first. */
export const recommendedEntries: readonly RecommendedEntry[] = [
  take('chat', 1, 'qwen800m', 'Runs on almost any computer; short and simple answers.'),
  take('chat', 2, 'qwen2b', 'Small and fast, for simple questions in many languages.'),
  take('chat', 4, 'qwen4b', 'Thinks before it answers and uses tools.'),
  take('chat', 8, 'qwen9b', 'A good all-round model that thinks, uses tools and leaves room for a long chat.'),
  take('chat', 16, 'gemma12b', 'Writes well in many languages; trained for four bits, so that little is lost.'),
  take('chat', 24, 'gemma31b', 'The largest that fits well into this memory.'),
  take('chat', 24, 'gemma26b', 'Fast for its size: only 4 of its 26 billion parameters are used per token.'),
  take('chat', 48, 'qwen35bLarge', 'Nearly the original precision, and fast: 3 of 35 billion parameters per token.'),
  take('code', 4, 'qwen4b', 'Small; calls tools, for simple agents.'),
  take('code', 8, 'qwen9b', 'Writes code and calls tools, with room for long files.'),
  take('code', 16, 'gptOss20b', 'Made for agents: reasons, calls tools, and is fast.'),
  take('code', 24, 'qwen27b', 'Strong in code and with agents.'),
  take('code', 24, 'qwenCoder30b', 'Made for code, and fast: 3 of 30 billion parameters per token.'),
  take('code', 48, 'qwen27bLarge', 'Strong in code and with agents, at nearly the original precision.'),
  take('code', 48, 'qwen35bLarge', 'Fast at nearly the original precision: 3 of 35 billion parameters per token.'),
  take('stories', 2, 'qwen2b', 'Short stories on a small computer.'),
  take('stories', 4, 'gemmaE2b', 'Natural prose for its size.'),
  take('stories', 8, 'gemmaE4b', 'Natural prose, with room for a long story.'),
  {
    ...noFile,
    purpose: 'stories',
    memory: 16,
    name: 'Mistral Nemo 12B',
    search: 'Mistral Nemo Instruct 2407',
    licence: 'Apache-2.0',
    architecture: 'llama',
    mixture: false,
    why: 'The base of most models for role play; takes up a style easily. About 7.5 GB as Q4_K_M.',
  },
  take('stories', 24, 'gemma31b', 'Long stories that hold together.'),
  take('stories', 24, 'gemma26b', 'Long stories at a good speed.'),
  take('vision', 4, 'gemmaE2b', 'Understands pictures and sound.'),
  take('vision', 8, 'gemmaE4b', 'Understands pictures and sound.'),
  take('vision', 16, 'qwen9b', 'Reads pictures, documents and diagrams.'),
  take('vision', 24, 'gemma31b', 'The largest with pictures that fits well into this memory.'),
  take('vision', 24, 'gemma26b', 'Understands pictures, and is fast.'),
  take('embeddings', 1, 'nomic', 'Small and fast; English.'),
  take('embeddings', 4, 'qwenEmbedding', 'Finds documents in many languages.'),
  {
    ...noFile,
    purpose: 'pictures',
    memory: 8,
    name: 'Z-Image Turbo',
    search: 'Z-Image-Turbo',
    pack: 'diffusion',
    licence: 'Apache-2.0',
    architecture: null,
    mixture: false,
    why: 'Good pictures in few steps. Needs its text encoder and VAE as well: --sdmodel, --sdllm, --sdvae.',
  },
  {
    ...noFile,
    purpose: 'speech',
    memory: 1,
    name: 'Kokoro 82M',
    bytes: 191e6,
    pack: 'voices',
    licence: voicesLicence,
    architecture: null,
    mixture: false,
    why: 'Natural voices in seven languages.',
  },
];

interface ComputerMemory {
  /** Of all GPUs together. */
  readonly gpuBytes: number;
  /** Of the machine. */
  readonly machineBytes: number;
}

/** What other programs leave of the memory of the machine. */
const machineShare = 0.75;
/** A processor reads larger dense models at less than 3 tokens per second. */
const maxProcessorClass = 8;

/** For each purpose the largest model that runs well here. */
export function recommendedFor({ gpuBytes, machineBytes }: ComputerMemory): readonly Recommendation[] {
  const shared = machineBytes * machineShare;
  const runs = ({ memory, mixture }: RecommendedEntry): boolean => {
    // A GPU of 8 GB has at least 8e9 bytes for programs.
    const need = memory * 1e9;
    if (mixture) return need <= gpuBytes + shared;
    return need <= gpuBytes || (need <= shared && memory <= maxProcessorClass);
  };
  const best = new Map<Purpose, RecommendedEntry>();
  for (const entry of recommendedEntries.filter(runs)) {
    const before = best.get(entry.purpose);
    if (!before || entry.memory > before.memory) best.set(entry.purpose, entry);
  }
  return [...best.values()].map(({ memory, architecture, mixture, ...recommendation }) => recommendation);
}
