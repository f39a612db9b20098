import { choice, file, flagTable, integer, json, list, text, toggle } from '../flag.ts';

const batchSizes = [-1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] as const;

export const memoryFlags = flagTable({
  autofit: toggle({ label: 'Automatic fit', also: ['--fit', '-fit'] }).help(
    'Place the model by free memory even if other flags set the placement.',
  ),
  autofitpadding: integer('MB', 1024, { label: 'GPU memory to leave free', min: 0 }).help(
    'GPU memory that automatic placement leaves free.',
  ),
  batchsize: integer('TOKENS', 512, {
    label: 'Batch size',
    also: ['--blasbatchsize', '--batch-size', '-b'],
    only: batchSizes,
  }).help('Prompt tokens submitted to the model at once. -1 uses the minimum.'),
  ubatchsize: integer('TOKENS', -1, {
    label: 'Physical batch size',
    also: ['--ubatch-size', '-ub'],
    defaultText: '-1, same as --batchsize',
    only: batchSizes,
  }).help('Prompt tokens computed at once (physical batch).'),
  blasthreads: integer('COUNT', 0, {
    label: 'Prompt threads',
    also: ['--batchthreads', '--threadsbatch', '--threads-batch'],
    defaultText: '0, same as --threads',
    min: -1,
  }).help('Threads for prompt processing, at most.'),
  fixedthreads: toggle({ label: 'Fixed number of threads', also: ['--fixed-threads'] }).help(
    'Always use all threads of --threads and --blasthreads. By default fewer are used while other programs keep the processor busy.',
  ),
  device: text('NAMES', '', { label: 'Devices', also: ['-dev'], defaultText: 'all' }).help(
    'Compute devices to use: names, separated by commas.',
  ),
  failsafe: toggle({ label: 'Failsafe' }).help('Use only basic CPU instructions, for very old machines.'),
  noavx2: toggle({ label: 'No AVX2' }).help('Do not use AVX2, for old machines.'),
  highpriority: toggle({ label: 'High priority' }).help('Request a higher process priority.'),
  ignoremissing: toggle({ label: 'Ignore missing files' }).help('Skip files that do not exist instead of exiting.'),
  lora: list('text', 'FILE', { label: 'LoRA', tab: 'Loaded Files', holds: 'file' }).help(
    'LoRA adapters for the text model, each with its scale (--loramult). Requests and presets choose among them (lora).',
  ),
  loramult: list('number', 'FACTOR', { label: 'LoRA strength', tab: 'Loaded Files', default: [1] }).help(
    'Scale of each text LoRA, in the same order; the last one counts for all that follow. With 0 an adapter is loaded, and applies where a request or a preset chooses it.',
  ),
  lowvram: toggle({ label: 'Low VRAM', also: ['-nkvo', '--no-kv-offload'] }).help(
    'Keep the KV cache in main memory instead of on the GPU.',
  ),
  maingpu: integer('DEVICE', -1, {
    label: 'Main GPU',
    also: ['--main-gpu', '-mg'],
    defaultText: '-1, automatic',
    min: -1,
  }).help('GPU for computations that cannot be split.'),
  mmproj: file({ label: 'Projector (vision, audio)', tab: 'Loaded Files' }).help(
    'Projector (mmproj) for image or audio input to the text model. Needs the vision pack (parley pack add vision).',
  ),
  mmprojcpu: toggle({ label: 'Projector on the CPU', also: ['--no-mmproj-offload'], tab: 'Loaded Files' }).help(
    'Run the projector on the CPU.',
  ),
  moecpu: integer('LAYERS', 0, {
    label: 'Experts on the CPU',
    also: ['--n-cpu-moe', '-ncmoe'],
    min: 0,
    bare: 999,
  }).help('Number of layers, counted from the first, whose expert weights stay in main memory.'),
  ffncpu: integer('LAYERS', 0, {
    label: 'Feed-forward on the CPU',
    also: ['--n-cpu-ffn', '-ncffn'],
    min: 0,
    bare: 999,
  }).help('Number of layers, counted from the first, whose dense feed-forward weights stay in main memory.'),
  moeexperts: integer('COUNT', -1, { label: 'Active experts', defaultText: '-1, set by the model', min: -1 }).help(
    'Active experts per token of mixture-of-experts models.',
  ),
  noflashattention: toggle({ label: 'No flash attention', also: ['--no-flash-attn', '-nofa'] }).help(
    'Do not use flash attention.',
  ),
  nommq: toggle({ label: 'No MMQ kernels', unsupported: true }).help(
    'On CUDA, use cuBLAS instead of the quantized matrix kernels.',
  ),
  overridekv: text('NAME=TYPE:VALUE', '', { label: 'Override metadata', also: ['--override-kv'] }).help(
    'Override model metadata while loading; separate several with commas.',
  ),
  overridenativecontext: integer('TOKENS', 0, {
    label: 'Override trained context',
    tab: 'Context',
    defaultText: '0, set by the model',
    min: 0,
  }).help('Trained context size to assume for RoPE scaling.'),
  overridetensors: text('PATTERN=DEVICE', '', { label: 'Override tensors', also: ['--override-tensor', '-ot'] }).help(
    'Where to place tensors whose names match; separate several with commas.',
  ),
  quantkv: choice(['f16', 'bf16', 'q8_0', 'q5_1', 'q4_0'], {
    label: 'KV cache type',
    tab: 'Context',
    synonyms: { 0: 'f16', 1: 'q8_0', 2: 'q4_0', 3: 'bf16' },
  }).help('Data type of the KV cache; smaller types save memory and lose precision.'),
  ropeconfig: list('number', 'SCALE BASE', {
    label: 'RoPE',
    tab: 'Context',
    defaultText: '0 10000, automatic',
    most: 2,
    default: [0, 10000],
  }).help('RoPE frequency scale and base. A scale of 0 is chosen by the context size.'),
  splitmode: choice(['layer', 'row', 'tensor'], { label: 'Split mode', also: ['-sm', '--split-mode'] }).help(
    'How to split the model between GPUs. row means the same as tensor.',
  ),
  usemlock: toggle({ label: 'Lock in memory', also: ['--mlock'] }).help(
    'Lock the model in memory so that it is never swapped out.',
  ),
  usemmap: toggle({ label: 'Memory-map the file' }).help('Memory-map the model file instead of reading it.'),
  usedirectio: toggle({ label: 'Direct I/O', also: ['--directio', '--direct-io', '-dio'] }).help(
    'Read the model file with direct I/O, bypassing the file cache.',
  ),
});

export const generationFlags = flagTable({
  defaultgenamt: integer('TOKENS', 2048, {
    label: 'Default reply length',
    tab: 'Tokens/Chat',
    min: 1,
  }).help('Default reply length, at most half the context.'),
  genlimit: integer('TOKENS', 0, {
    label: 'Maximum reply length',
    also: ['--promptlimit'],
    tab: 'Tokens/Chat',
    defaultText: '0, no limit',
    min: 0,
  }).help('Maximum reply length of any request.'),
  gendefaults: json({ label: 'Request defaults', tab: 'Tokens/Chat' }).help(
    'Default values for request fields, by their names in the native and image APIs. The reply length cannot be set here.',
  ),
  gendefaultsoverwrite: toggle({ label: 'Defaults override requests', tab: 'Tokens/Chat' }).help(
    'Let --gendefaults replace values that requests do set, under any name of any API.',
  ),
  reasoningeffort: choice(['default', 'none', 'low', 'medium', 'high', 'xhigh'], {
    label: 'Reasoning effort',
    tab: 'Tokens/Chat',
  }).help('Reasoning effort for requests that do not set it.'),
  enableguidance: toggle({ label: 'Guidance (negative prompts)', tab: 'Tokens/Chat' }).help(
    'Allow negative prompts (classifier-free guidance), which need a second context.',
  ),
  nobostoken: toggle({ label: 'No BOS token', tab: 'Tokens/Chat' }).help('Do not prepend the BOS token to prompts.'),
  nofastforward: toggle({ label: 'No prompt reuse' }).help(
    'Process every prompt from its start instead of reusing the cached prefix. Turns off context shift too.',
  ),
  noshift: toggle({ label: 'No context shift', also: ['--no-context-shift'] }).help(
    'Do not shift the context when it is full.',
  ),
  noswa: toggle({ label: 'Full sliding-window cache', also: ['--swa-full'] }).help(
    'Keep the full KV cache of models with sliding-window attention. Uses more memory; a changed prompt is then reused up to the exact token that changed instead of the last checkpoint before it.',
  ),
  swapadding: integer('TOKENS', 0, { label: 'Sliding-window padding', min: 0, unsupported: true }).help(
    'Extra tokens in the sliding-window cache. The library sizes this cache itself; checkpoints serve the same purpose, and --noswa keeps everything.',
  ),
  smartcache: integer('SLOTS', -1, {
    label: 'Smart cache',
    defaultText: '-1, automatic',
    min: -1,
    bare: 1,
  }).help(
    'Keep snapshots of earlier contexts in main memory. -1 keeps as many as fit into what is free, 1 means 5 snapshots, a larger number that many, 0 none.',
  ),
  smartcontext: toggle({ label: 'Smart context', unsupported: true }).help(
    'Reserve part of the context so that long stories are reprocessed less often.',
  ),
  parallelrequests: integer('COUNT', 1, {
    label: 'Parallel requests',
    also: ['--continuous-batching', '--contbatch'],
    min: 0,
    max: 32,
  }).help(
    'Process up to this many text requests together (continuous batching); 0 and 1 process one at a time. Turns off context shift.',
  ),
  kvpool: integer('TOKENS', -1, { label: 'Shared KV cache', tab: 'Context', min: -1 }).help(
    'With --parallelrequests, share a KV cache of this many tokens between all requests, instead of --contextsize for each. Requests that find no room wait. 0 shares nothing. -1 shares nothing where there is room for --contextsize for each request (an unused cache takes no memory on Linux without a GPU), and --contextsize and up to 4096 more for each further request elsewhere. Never shared with --deterministic or --enableguidance.',
  ),
  draftmodel: file({ label: 'Draft model', also: ['--model-draft', '-md'], tab: 'Loaded Files' }).help(
    'Small model for speculative decoding, with the vocabulary of the text model. The generated text stays the same. With --draftngram, it drafts where the lookup finds nothing.',
  ),
  draftamount: integer('TOKENS', 4, {
    label: 'Draft tokens',
    also: ['--draft-max', '--draft-n', '--spec-draft-n-max'],
    tab: 'Loaded Files',
    min: 0,
  }).help(
    'The most tokens to draft per step. On the processor drafts have 3, 7, 11, … tokens, because it computes tokens in blocks of four. No drafts while more requests than half of this number run at the same time.',
  ),
  draftgpulayers: integer('LAYERS', 999, {
    label: 'Draft GPU layers',
    also: ['--gpu-layers-draft', '--n-gpu-layers-draft', '-ngld'],
    tab: 'Loaded Files',
    min: -1,
  }).help('Draft model layers to offload to the GPU; -1 offloads all.'),
  draftgpusplit: list('number', 'RATIO', { label: 'Draft tensor split', tab: 'Loaded Files', unsupported: true }).help(
    'Share of the draft model for each GPU.',
  ),
  usemtp: toggle({ label: 'Multi-token prediction', tab: 'Loaded Files' }).help(
    'Speculative decoding with layers for multi-token prediction: those of the text model or, with --draftmodel, of a file of their own. The generated text stays the same. --draftamount limits the tokens per step. A line on the console says why where this is not possible.',
  ),
  visionmaxres: integer('PIXELS', 1024, { label: 'Maximum image size', min: 512, max: 2048, clamp: true }).help(
    'Maximum side length of input images; larger ones are scaled down.',
  ),
  visionmintokens: integer('TOKENS', -1, {
    label: 'Minimum image tokens',
    also: ['--image-min-tokens'],
    defaultText: '-1, set by the model',
    min: -1,
  }).help('Minimum tokens per image.'),
  visionmaxtokens: integer('TOKENS', -1, {
    label: 'Maximum image tokens',
    also: ['--image-max-tokens'],
    defaultText: '-1, set by the model',
    min: -1,
  }).help('Maximum tokens per image.'),
});

export const chatFlags = flagTable({
  chatcompletionsadapter: text('NAME', 'AutoGuess', { label: 'Chat adapter', tab: 'Loaded Files', holds: 'json' }).help(
    'Chat adapter that turns messages into a prompt: a built-in name, a file, or the JSON itself.',
  ),
  systemprompt: text('TEXT', '', { label: 'System prompt', also: ['--system-prompt', '-sys'] }).help(
    'System prompt for chats that have none.',
  ),
  memory: toggle({ label: 'Memory', also: ['--memories'] }).help(
    'Chats of every API know what the person wants remembered: facts that fit the last message are put at its end, and the model may keep a fact when asked to. The pages list them; without this flag only the pages use them. In a preset: "memory": true.',
  ),
  jinja: toggle({ label: "Model's own chat template" }).help(
    "Use the model's own chat template, for requests with tools only if it shows them and its format of calls is known.",
  ),
  jinja_tools: toggle({ label: 'Chat template for tools', also: ['--jinja-tools', '--jinjatools'] }).help(
    "Use the model's own chat template for all requests with tools, and stream their calls. Turns on --jinja.",
  ),
  jinja_kwargs: json({
    label: 'Chat template variables',
    also: ['--jinja-kwargs', '--jinjakwargs', '--chat-template-kwargs'],
  }).help('Extra variables for the chat template. Turns on --jinja.'),
  jinjatemplate: file({ label: 'Chat template file', also: ['--chat-template-file'] }).help(
    "Chat template to use instead of the model's own.",
  ),
  jinjathink: choice(['default', 'true', 'false'], { label: 'Thinking' }).help(
    'Tell the chat template whether to enable thinking. Turns on --jinja.',
  ),
  mcpfile: file({ label: 'MCP servers', tab: 'Loaded Files', scope: 'server', ending: '.json' }).help(
    'JSON file of the MCP servers to connect to, in the format of desktop apps: mcpServers, each with a command or a url. Their tools are served at POST /mcp. The extension .json may be omitted.',
  ),
  websearch: toggle({ label: 'Web search', scope: 'server' }).help(
    'Let clients search the web through this server, and models for requests with web_search tools.',
  ),
  preloadstory: text('FILE', '', { label: 'Preloaded story', tab: 'Loaded Files', holds: 'json-file' }).help(
    'Saved story that the web client opens with: a file, or the JSON itself.',
  ),
});
