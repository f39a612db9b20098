import { choice, file, flagTable, folder, integer, list, text, toggle } from '../flag.ts';

export const mainFlags = flagTable({
  model: list('text', 'FILE', {
    label: 'Text model',
    also: ['-m'],
    tab: 'Loaded Files',
    defaultText: 'the built-in model',
    holds: 'file',
  }).help(
    'Text model to load: a GGUF file, hf:OWNER/NAME[:QUANTIZATION] on the hub, or an https address, which is downloaded if it is not here yet. On the command line the flag may be left out. Of several files only the first is loaded.',
  ),
  hf_repo: text('OWNER/NAME[:QUANTIZATION]', '', { name: '--hf-repo', also: ['-hf', '-hfr'], saved: false }).help(
    'Text model on the hub, as llama-server takes it: the same as --model hf:OWNER/NAME.',
  ),
  hf_file: text('FILE', '', { name: '--hf-file', also: ['-hff'], saved: false }).help('File of --hf-repo to use.'),
  config: text('FILE', '', { scope: 'server', saved: false }).help(
    'Read settings from a .kcpps or .kcppt file. Command-line flags override the file.',
  ),
  contextsize: integer('TOKENS', 16384, {
    label: 'Context size',
    also: ['--ctx-size', '-c'],
    tab: 'Context',
    min: 256,
    max: 524288,
    defaultText: '16384, or more where it fits beside the model, up to its training length',
  }).help('Context size in tokens.'),
  targetcontext: integer('TOKENS', 0, { label: 'Target context', tab: 'Context', min: 0, max: 524288 }).help(
    'Context size to reach without --contextsize, if most of the free memory is enough for it. `parley launch` sets it. 0 leaves more memory to other programs.',
  ),
  gpulayers: integer('LAYERS', -1, {
    label: 'GPU layers',
    also: ['--gpu-layers', '--n-gpu-layers', '-ngl'],
    min: -1,
    bare: 1,
  }).help('Model layers to offload to the GPU. -1 chooses by free memory, 0 offloads none.'),
  host: text('ADDRESS', '', {
    label: 'Host',
    tab: 'Network',
    scope: 'server',
    defaultText: 'this machine only',
    environment: ['PARLEY_HOST'],
  }).help('Address to listen on. By default only this machine can connect; 0.0.0.0 opens the server to the network.'),
  port: integer('PORT', 5001, { label: 'Port', tab: 'Network', scope: 'server', min: 0, max: 65535 }).help(
    'Port to listen on. Also the second positional argument. 0 picks a free port.',
  ),
  launch: toggle({ label: 'Open the browser when ready', tab: 'Network' }).help(
    'Open the web client in a browser when the server is ready.',
  ),
  tensor_split: list('number', 'RATIO', {
    label: 'Tensor split',
    also: ['--tensorsplit', '--tensor-split', '-ts'],
  }).help('Share of the model for each GPU, for example 7 3.'),
  threads: integer('COUNT', -1, {
    label: 'Threads',
    also: ['-t'],
    defaultText: 'physical cores available to the process, at most 64',
    min: -1,
  }).help('Threads for text generation, at most (see --fixedthreads). 0 or less chooses automatically.'),
  usecuda: list('choice', 'OPTION', {
    label: 'CUDA',
    also: ['--usecublas', '--usehipblas'],
    choices: ['0', '1', '2', '3', 'all', 'mmq', 'nommq', 'normal', 'lowvram', 'rowsplit'],
    least: 0,
  }).help('Compute with CUDA (or ROCm). A number selects the GPU.'),
  usevulkan: list('integer', 'DEVICE', { label: 'Vulkan', least: 0 }).help(
    'Compute with Vulkan, optionally on the devices with these numbers.',
  ),
  usecpu: toggle({ label: 'CPU only' }).help('Compute on the CPU only, even if a GPU is present.'),
  version: toggle({ saved: false }).help('Print the version, the commit and the engine versions, and exit.'),
  help: toggle({ also: ['-h'], saved: false }).help('Print this list and exit.'),
});

export const runFlags = flagTable({
  agent: toggle({ unsupported: true }).help(
    'Start the terminal agent. Raises the context size and reply length and turns on --jinja_tools.',
  ),
  analyze: file({ saved: false }).help('Print the metadata of a model file and exit.'),
  benchmark: text('FILE', null, { scope: 'server', bare: 'stdout' }).help(
    'Measure speed instead of serving. With a file name, the result is appended to it as a line of CSV.',
  ),
  cli: toggle({ scope: 'server' }).help('Chat in the terminal without starting a server.'),
  prompt: text('TEXT', '', { also: ['-p'], scope: 'server' }).help('Complete this text on standard output and exit.'),
  exportconfig: text('FILE', '', { saved: false }).help('Write these settings to a .kcpps file and exit.'),
  exporttemplate: text('FILE', '', { saved: false }).help(
    'Write these settings, without machine-specific ones, to a .kcppt file and exit.',
  ),
  nomodel: toggle({ label: 'No text model', tab: 'Loaded Files' }).help(
    'Do not load a text model from a file. With --remote, the remote model is served.',
  ),
  downloaddir: folder({ scope: 'server', unsupported: true }).help('Folder for downloaded models.'),
  unpack: folder({ saved: false, unsupported: true }).help('Extract the program files to a folder and exit.'),
  showgui: toggle().help('Open the launcher, a page on this machine to choose settings and start the server.'),
  skiplauncher: toggle().help(
    'Start the server and open nothing in the browser. Without any flag, at a display, the web client opens when the server is ready, or the launcher if the program file was double-clicked.',
  ),
});

/** Flags that KoboldCpp passes to its own subprocesses, accepted so that a copied command line works. */
export const internalFlags = flagTable({
  testmemory: toggle({ saved: false, unsupported: true }).help('Memory test of the launcher.'),
  run_bundled_agent: toggle({ name: '--run-bundled-agent', saved: false, unsupported: true }).help(
    'Run the terminal agent against a running server.',
  ),
  agent_base_url: text('URL', '', { name: '--agent-base-url', saved: false, unsupported: true }).help(
    'Server that the terminal agent connects to.',
  ),
  agent_api_key: text('KEY', '', { name: '--agent-api-key', saved: false, secret: true, unsupported: true }).help(
    'API key of the terminal agent.',
  ),
});

export const serverFlags = flagTable({
  multiuser: integer('COUNT', 10, { label: 'Multiuser Queue', scope: 'server', min: 0, bare: 10 }).help(
    'Maximum number of requests accepted at once, running ones included. The default grows with --parallelrequests. 1 means 10; 0 accepts one, or two if a speech-to-text, image, text-to-speech or embeddings model is loaded, or 10 with --parallelrequests.',
  ),
  multiplayer: toggle({ label: 'Multiplayer', scope: 'server' }).help(
    'Let several people write one story together. The story is stored per port and survives restarts.',
  ),
  password: text('KEY', null, {
    label: 'Password',
    scope: 'server',
    environment: ['PARLEY_PASSWORD', 'KCPP_PASSWORD'],
    secret: true,
  }).help('API key that clients must send to generate, to change anything or to see what others generated.'),
  keyfile: text('FILE', '', { label: 'Key file', scope: 'server' }).help(
    'File of keys with their own scopes, rates and expiry dates, made by `parley keys add`. Clients must send one of them or the password. Changes apply within a second.',
  ),
  ratelimit: integer('SECONDS', 0, { label: 'Rate limit', scope: 'server', defaultText: '0, no limit', min: 0 }).help(
    'Minimum time between two requests from the same client.',
  ),
  maxrequestsize: integer('MB', 32, { label: 'Maximum request size', scope: 'server', min: 1 }).help(
    'Maximum size of a request body.',
  ),
  ssl: list('text', 'CERTIFICATE KEY', {
    label: 'SSL certificate and key',
    scope: 'server',
    holds: 'file',
    least: 2,
    most: 2,
  }).help('Serve HTTPS with this certificate and key (PEM files). Changed files are taken up within a second.'),
  quiet: toggle({ label: 'Quiet' }).help('Do not log prompts and replies.'),
  debugmode: integer('LEVEL', 0, { label: 'Debug mode', min: -1, bare: 1 }).help(
    'Log level: -1 minimal, 0 normal, 1 verbose (turns off --quiet).',
  ),
  onready: text('COMMAND', '', { label: 'Command when ready' }).help('Shell command to run once the model is loaded.'),
  allow_config_onready: toggle({ name: '--allow-config-onready', saved: false }).help(
    'Allow config files to set --onready, which is ignored there otherwise.',
  ),
  singleinstance: toggle({ label: 'Single instance', scope: 'server' }).help(
    'Let a newer instance of the same account on the same port stop this one.',
  ),
  savedatafile: text('FILE', '', { label: 'Saved data file', scope: 'server' }).help(
    'File in which clients can save stories on the server, in twelve slots; several servers can share it. The extension .jsondb is appended. The pages keep chats, stories and characters in a folder beside it, in browsers where that is switched on.',
  ),
  remotetunnel: toggle({ label: 'Remote tunnel', scope: 'server', unsupported: true }).help(
    'Expose the server to the internet through a tunnel.',
  ),
  nocertify: toggle({ label: 'Accept invalid certificates', scope: 'server', unsupported: true }).help(
    'Accept invalid certificates when the server downloads something.',
  ),
  foreground: toggle({ label: 'Console in front', unsupported: true }).help(
    'On Windows, bring the console to the front on each request.',
  ),
});

export const adminFlags = flagTable({
  admin: toggle({ label: 'Admin', scope: 'server' }).help(
    'Enable the admin endpoints: list_options and reload_config swap the model or config; the model panel of the web page lists, switches and downloads models (/api/admin/models, /api/pull); the model that was switched to last is used again at the next start on the same port, unless a flag or config names a model; check_state, save_state, load_state and clear_state manage chat states saved in memory.',
  ),
  noowner: toggle({ label: 'No owner of the page', scope: 'server' }).help(
    'Without this flag, --admin, a password and keys, whoever opens the web page on this machine may search, download, switch and delete models there, as long as only this machine can connect. Use it where a proxy lets others connect.',
  ),
  adminpassword: text('KEY', null, {
    label: 'Admin password',
    scope: 'server',
    environment: ['PARLEY_ADMINPASSWORD', 'KCPP_ADMINPASSWORD'],
    secret: true,
  }).help('Key for the admin endpoints. It is also accepted wherever --password is.'),
  admindir: folder({ label: 'Admin folder', scope: 'server', defaultText: 'the program folder' }).help(
    'Folder of the models (.gguf) and configs (.kcpps, .kcppt) that can be swapped in or requested by name, including its direct subfolders. The admin endpoints are closed while it does not exist.',
  ),
  adminunloadtimeout: integer('SECONDS', 0, {
    label: 'Idle unload time',
    scope: 'server',
    defaultText: '0, never',
    min: 0,
  }).help('Unload a model after this long without requests. The next request loads it again.'),
  routermode: toggle({ label: 'Router mode', scope: 'server' }).help(
    'Load the model in --admindir that a request names, next to others as far as memory and --maxmodels allow. Unknown names are rejected (--modelalias adds names); requests without a name use the model of the start. A changed file is read again by the next request that names it. Turns on --admin.',
  ),
  reqtimeout: integer('SECONDS', 600, { label: 'Model load time-out', scope: 'server', min: 1 }).help(
    'Maximum time that a request waits for its model to load in --routermode, or for a model swap, before it fails.',
  ),
  autoswapmode: toggle({ label: 'Load on first request', scope: 'server' }).help(
    'Load nothing at startup; the first request for a model loads it. Turns on --routermode.',
  ),
  autoswapthreshold: integer('MB', 256, { label: 'Swap threshold', min: 0, max: 1048576, unsupported: true }).help(
    'Models up to this total size stay loaded in --autoswapmode.',
  ),
  baseconfig: text('FILE', '', { label: 'Base config', scope: 'server' }).help(
    'Config file with values for every model or config that is swapped in, unless the latter sets them itself.',
  ),
  rpcmode: choice(['disabled', 'connect', 'host'], { label: 'RPC mode', scope: 'server' }).help(
    'Share GPUs with other machines through llama.cpp RPC. Rejected: the bundled libraries are built without RPC. Use --remote for engines on other machines.',
  ),
  rpcport: integer('PORT', 5551, { label: 'RPC port', scope: 'server', min: 0, max: 65535, unsupported: true }).help(
    'Port for sharing GPUs.',
  ),
  rpchost: text('ADDRESS', '0.0.0.0', { label: 'RPC host', scope: 'server', unsupported: true }).help(
    'Address for sharing GPUs.',
  ),
  rpcdevice: text('NAMES', '', { label: 'RPC devices', scope: 'server', unsupported: true }).help('Devices to share.'),
  rpctargets: text('ADDRESSES', '', { label: 'RPC targets', scope: 'server' }).help(
    'Machines whose GPUs to use through llama.cpp RPC. Rejected like --rpcmode.',
  ),
});

export const hordeFlags = flagTable({
  hordemodelname: text('NAME', '', { label: 'Horde model name' }).help(
    'Model name to report to clients. Sets --debugmode to -1 unless it is set.',
  ),
  hordeworkername: text('NAME', '', { label: 'Horde worker name', unsupported: true }).help(
    'Name of this AI Horde worker. Sets --debugmode to -1 unless it is set.',
  ),
  hordekey: text('KEY', '', { label: 'Horde key', secret: true, unsupported: true }).help(
    'API key for the AI Horde. Sets --debugmode to -1 unless it is set.',
  ),
  hordemaxctx: integer('TOKENS', 0, { label: 'Horde context', defaultText: '0, same as --contextsize', min: 0 }).help(
    'Context size to report to clients.',
  ),
  hordegenlen: integer('TOKENS', 0, { label: 'Horde reply length', defaultText: '0, 1024', min: 0 }).help(
    'Maximum reply length to report to clients.',
  ),
});

/** Flags that KoboldCpp does not have. */
export const parleyFlags = flagTable({
  allowedhosts: list('text', 'NAME', {
    label: 'Allowed hosts',
    scope: 'server',
    defaultText:
      'loopback names, IP addresses, the name of this machine and, with --host, those that containers have for it',
  }).help('Additional host names for which the server answers. Not needed with a password.'),
  allowedorigins: list('text', 'ORIGIN', {
    label: 'Allowed origins',
    scope: 'server',
    defaultText: 'own pages, pages on this machine and https://lite.koboldai.net',
  }).help(
    'Additional origins (web pages) that may call the server; null allows local files, * allows all. Not needed with a password, except for pages with which the browser sends saved credentials.',
  ),
  lan: toggle({ label: 'Open to the local network', tab: 'Network', scope: 'server' }).help(
    'Let phones and computers in the local network connect: HTTP and HTTPS on one port, with a certificate that Parley makes itself, and an address and a QR code on the console. Others need a key: without --keyfile that of `parley keys` is used, and made if it is missing. `parley lan` shows address and code again.',
  ),
  legacyopenpaths: toggle({ label: 'Legacy open paths' }).help(
    'Leave open, despite a password, the endpoints that KoboldCpp leaves open and whose clients send no key: images (/sdapi, ComfyUI, /v1/images), xtts-api-server speech (/tts_to_audio, /tts_stream, /set_tts_settings), /slots and /metrics. Other origins still may not call them.',
  ),
  inspect: integer('COUNT', 0, {
    label: 'Inspected requests',
    scope: 'server',
    defaultText: '0, off',
    min: 0,
    max: 10_000,
    bare: 100,
  }).help(
    'Keep the last COUNT requests in memory for the translation inspector of the web client: bodies, prompts, events and replies, without keys. Only administrators can see them (--admin).',
  ),
  noagentreport: toggle({ label: 'No report on conversations', scope: 'server' }).help(
    'Keep no figures of conversations: no line on the console for each turn of a long chat, and an empty page at /conversations. The figures are in memory only, with the few words at which a prompt differs from the last one, and no prompts.',
  ),
  documentsdir: text('FOLDER', '', {
    label: 'Folder of documents',
    scope: 'server',
    defaultText: 'the folder documents of the data folder',
  }).help('Folder for collections of documents and their indexes. Two servers cannot use one folder at the same time.'),
  nodocuments: toggle({ label: 'No documents', scope: 'server' }).help(
    'Offer no collections of documents: neither their endpoints and tools nor the search in them. What is stored stays.',
  ),
  stalltimeout: integer('SECONDS', 60, { label: 'Stall time-out', scope: 'server', min: 0, max: 86400 }).help(
    'Close the connection of a client that reads nothing of its response for this long, and abort its request; 0 disables this. Slow clients are not affected.',
  ),
  shutdowntimeout: integer('SECONDS', 8, { label: 'Shutdown time-out', scope: 'server', min: 0, max: 86400 }).help(
    'How long running requests may finish after the first Ctrl+C or SIGTERM; 0 ends them at once. Waiting and new ones are refused.',
  ),
  filelimit: integer('MB', 512, { label: 'Largest stored file', scope: 'server', min: 1, max: 1_048_576 }).help(
    'Maximum size of a file that clients store on the server (/v1/files, /v1/uploads).',
  ),
  filespace: integer('MB', 20_480, {
    label: 'Space for stored files',
    scope: 'server',
    min: 1,
    max: 1_073_741_824,
  }).help(
    'Maximum size of all files together that the holder of a key stores on the server, or everybody without keys. What is beyond it is refused.',
  ),
  websearchurl: text('URL', '', { scope: 'server', defaultText: 'the HTML page of DuckDuckGo' }).help(
    'Search page or SearXNG instance to query; %s stands for the query. Turns on --websearch.',
  ),
  contextoverflow: choice(['refuse', 'trim', 'compact'], { label: 'Context overflow', tab: 'Context' }).help(
    'What the chat APIs do with a prompt that does not fit: return an error (refuse), drop its beginning (trim), or shorten the conversation (compact): old tool results are removed first, then the model summarises the middle; the system prompt, the first message and the last turns stay. Summaries are kept in the state folder for the next start, unless --quiet or --noagentreport is given.',
  ),
  compactmodel: text('NAME', '', {
    label: 'Model for summaries',
    tab: 'Context',
    scope: 'server',
    defaultText: 'the model of the chat',
  }).help(
    'Model that summarises conversations, for --contextoverflow compact and for clients that ask for it: another one of --routermode or --remote. If it does not fit beside the model of the chat, that one is unloaded meanwhile; a model that computes for somebody else is not. If it cannot be used, the model of the chat writes the summary, and the reply says so.',
  ),
  exactprompts: toggle({ label: 'Exact prompts', tab: 'Context' }).help(
    'Leave the texts of known coding agents as they are. By default, lines that differ between conversations and mean nothing to the model are left out, and others are put behind the texts that conversations have in common, so that these are found in the cache.',
  ),
  batchall: toggle({ label: 'Batch all requests', tab: 'Context' }).help(
    'With --parallelrequests, batch requests with any sampler, not only simple ones.',
  ),
  deterministic: toggle({ label: 'Deterministic', tab: 'Context' }).help(
    'Return the same text for the same request with a seed, or at temperature 0: alone or next to other requests, cached or not, before or after a restart (on the same machine with the same flags). Slower: requests are computed one after the other, without drafting or context shift; the cache reuses only whole blocks of 64 prompt tokens and no replies; sliding-window models need the memory of a full cache.',
  ),
  cpubuild: text('NAME', '', { label: 'CPU build', tab: 'Hardware', defaultText: 'the best one for this CPU' }).help(
    'CPU build of the engine, such as haswell or icelake. A name that cannot run here is rejected with a list of those that can.',
  ),
  draftngram: integer('TOKENS', 0, {
    label: 'N-gram drafting',
    tab: 'Loaded Files',
    defaultText: '0, off',
    min: 0,
    bare: 3,
  }).help('Speculative decoding by looking up n-grams of this length in the text so far, without a draft model.'),
  diskcache: text('FOLDER[:SIZE]', '', { label: 'Disk cache', tab: 'Context', holds: 'folder' }).help(
    'Keep computed prompts of 256 tokens and more in this folder, so that they survive a restart. SIZE (such as 500M or 20GiB; 20G by default) limits all snapshots in the folder together, including those of other models; the least recently used are removed first. Snapshots contain what people wrote and are readable by your account only. The folder may be emptied at any time. ~/ is your home folder.',
  ),
  mcpserverloop: integer('TURNS', 0, { defaultText: '0, off', min: 0, max: 100, bare: 8 }).help(
    'With --mcpfile, run the tools on the server for chat requests without tools of their own, in every chat API, for at most this many turns; then the model has to answer. Tools run without confirmation.',
  ),
  mcptools: list('text', 'NAME', { defaultText: 'all' }).help(
    'Offer only these tools to chats, of --mcpfile and of the server (search_documents), and run them as --mcpserverloop does, also without that flag. Names that no server has are reported on the console. In a preset: "mcptools": ["NAME"].',
  ),
  mcptimeout: integer('SECONDS', 180, { scope: 'server', min: 1, max: 3600 }).help(
    'Maximum time without a sign of progress for a tool call of --mcpfile. A call that reports progress may take ten times as long in total.',
  ),
  mcpallow: list('text', 'URL', { scope: 'server', repeats: true }).help(
    'MCP servers that requests may name beside those of --mcpfile, with credentials of their own: each URL allows its origin, at its path and below; can be repeated. Names must lead to the public internet: for a server in your own network give its IP address, or localhost.',
  ),
  remote: list('text', 'URL[,OPTION=VALUE]', { scope: 'server', repeats: true }).help(
    'OpenAI-compatible backends on other machines (vLLM, SGLang, llama-server, TGI, another Parley), with or without /v1; can be repeated. Backends with the same model share the load. Options: weight=2, key=env:NAME (environment variable with the key), model=NAME, parallel=64 (concurrent requests), for=text, embeddings, images, speech, transcription or audio (both), pass=FIELD (passes request fields on as they are, such as pass=cnet_*). Without --model, the first backend is the text model.',
  ),
  engine: list('text', "NAME='COMMAND'", { label: 'Engine programs', scope: 'server', repeats: true }).help(
    'Another program as the engine of a model (llama-server, vLLM, sd-server, whisper-server, ComfyUI): it is started when a request names the model, watched, and ended with the server; can be repeated. No shell reads the command. ${port} is replaced with a free port, ${host} with 127.0.0.1, and ${key} with a random key. `parley engines` shows recipes. In a config file, engine is an object with command, model, kind, ready, timeout, env, cwd, stop, memory, idle and parallel. Without --model, the first engine is the text model.',
  ),
  modelalias: list('text', 'NAME=MODEL', { scope: 'server', repeats: true }).help(
    "Another name for a model, for apps with built-in model names; can be repeated: claude-*=qwen3. * matches any text. A model's own name wins over an alias, and the first matching alias wins. Applies to all APIs and all kinds of models.",
  ),
  warmname: text('NAME', 'warm', { label: 'Name of the loaded model', tab: 'Admin', scope: 'server' }).help(
    'Model name that means whichever text model is loaded, the one that was used last if there are several, and the model of the start if there is none. A model or alias of this name wins. An empty name turns it off.',
  ),
  adminallowlinks: toggle({ scope: 'server' }).help(
    'Include files outside of --admindir that links in it point to. Otherwise such links are skipped and logged.',
  ),
  maxmodels: integer('COUNT', 0, {
    label: 'Models in memory',
    tab: 'Admin',
    scope: 'server',
    defaultText: 'as many as fit in memory',
    min: 0,
    max: 64,
  }).help('Maximum number of models in memory in --routermode. The least recently used one is unloaded first.'),
  swapdelay: integer('SECONDS', 30, {
    label: 'Delay of a swap',
    tab: 'Admin',
    scope: 'server',
    min: 0,
    max: 86400,
  }).help(
    'With --routermode: how long a request may wait for its model because later requests for loaded models go first, in all. Those that run then are finished. 0: in the order of arrival.',
  ),
  swapdelayswaps: integer('COUNT', 2, {
    label: 'Delay of a swap, in swaps',
    tab: 'Admin',
    scope: 'server',
    min: 0,
    max: 1000,
  }).help(
    'The same limit as a multiple of the time that the model of the request took to load the last time; the shorter one of both holds. 0: in the order of arrival.',
  ),
  idle: text('TIME', '', { label: 'Unload when idle for', tab: 'Admin', defaultText: '--adminunloadtimeout' }).help(
    'Unload the model after this long without requests, such as 90s, 10m or 2h; 0 unloads it after each request, never keeps it. In a config of --admindir it applies to the model of that config. Requests may set another time (keep_alive, ttl).',
  ),
  pin: toggle({ label: 'Keep in memory', tab: 'Admin' }).help(
    'Once loaded, never unload the model to make room for others or to switch to another one: what needs its memory is refused. --adminunloadtimeout and the times of requests do not apply to it; --idle does, and so does a request to unload it. In a config of --admindir it applies to the model of that config.',
  ),
  group: text('NAME', '', { label: 'Group of models', tab: 'Admin' }).help(
    'Never keep the model loaded beside models of another group, even if memory would allow it; models without a group are loaded beside all. In a config of --admindir it applies to the model of that config.',
  ),
  preload: integer('ORDER', 0, {
    label: 'Load at startup',
    tab: 'Admin',
    defaultText: '0, off',
    min: 0,
    max: 1000,
    bare: 1,
  }).help(
    'In a config of --admindir, with --routermode: load its model at startup, after the model of the start. Lower numbers are loaded first, equal ones by name. A model that does not fit beside those is skipped with a line on the console. With --autoswapmode the model of the start is loaded only with this flag.',
  ),
  logformat: choice(['text', 'json'], { label: 'Log format', tab: 'Network', scope: 'server' }).help(
    'Format of the console: lines for people, or one JSON object per line for log collectors, with one line per request. See docs/monitoring.md.',
  ),
  trace: text('URL', '', { label: 'Trace collector', tab: 'Network', scope: 'server', defaultText: 'no traces' }).help(
    'Send a trace of each request to this OpenTelemetry collector (OTLP over HTTP, such as http://localhost:4318). OTEL_EXPORTER_OTLP_HEADERS can have headers for it. See docs/monitoring.md.',
  ),
});
