import { join } from 'node:path';
import { type Agent, type AgentServer, below, compactTokens, noKey, outputTokens, xdgConfig } from './agent.ts';
import { jsonConfig, toml, withTomlEntries } from './config-text.ts';

/** A long prompt takes minutes on a processor, during which no token arrives. */
const timeoutMs = 3_600_000;
/** Claude Code summarises at the window less the longest reply and this reserve. */
const claudeReserve = 13_000;

/**
 * The agents that `parley launch` can start. Everything that this program knows about one is in its row; texts and documents are made
 * from it.
 */
export const agents: Readonly<Record<string, Agent>> = {
  claude: {
    title: 'Claude Code',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    api: 'Messages',
    tested: '2.1.325',
    promptTokens: 11_000,
    start: (server) => ({ environment: { ...claudeVariables(server), ANTHROPIC_API_KEY: undefined } }),
    config: jsonConfig(
      (system) =>
        system.environment.CLAUDE_CONFIG_DIR
          ? below({ ...system, home: system.environment.CLAUDE_CONFIG_DIR }, 'settings.json')
          : below(system, '.claude', 'settings.json'),
      (server) => ({ env: claudeVariables(server) }),
    ),
  },
  codex: {
    title: 'Codex',
    program: 'codex',
    install: 'npm install -g @openai/codex',
    api: 'Responses',
    tested: '0.166.0',
    promptTokens: 10_000,
    start: (server) => ({
      environment: { [codexKey]: server.key },
      arguments: [
        ...Object.entries(codexSettings(server)).map(([key, value]) => `${key}=${toml(value)}`),
        ...Object.entries(codexProvider(server)).map(([key, value]) => `model_providers.parley.${key}=${toml(value)}`),
      ].flatMap((setting) => ['-c', setting]),
    }),
    config: {
      path: (system) =>
        system.environment.CODEX_HOME
          ? below({ ...system, home: system.environment.CODEX_HOME }, 'config.toml')
          : below(system, '.codex', 'config.toml'),
      withServer: (text = '', server) => {
        // Codex takes a key from the environment only, and refuses to start without a variable that the file names.
        const { env_key, ...provider } = codexProvider(server);
        const entries = server.key === noKey ? provider : { ...provider, env_key };
        return withTomlEntries(text, codexSettings(server), { name: 'model_providers.parley', entries });
      },
    },
  },
  opencode: {
    title: 'opencode',
    program: 'opencode',
    install: 'npm install -g opencode-ai',
    api: 'Chat completions',
    tested: '1.18.18',
    promptTokens: 8000,
    start: (server) => ({
      environment: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(server)),
        // Otherwise it waits for the list of all models of other providers.
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      },
    }),
    config: jsonConfig((system) => xdgConfig(system, 'opencode', 'opencode.json'), opencodeSettings),
  },
  qwen: {
    title: 'Qwen Code',
    program: 'qwen',
    install: 'npm install -g @qwen-code/qwen-code',
    api: 'Chat completions',
    tested: '0.24.4',
    promptTokens: 12_000,
    files: (server) => ({ 'settings.json': JSON.stringify(qwenSettings(server)) }),
    start: ({ url, model, key, contextSize }, folder) => ({
      environment: {
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_API_KEY: key,
        OPENAI_MODEL: model,
        QWEN_CODE_MAX_OUTPUT_TOKENS: String(outputTokens(contextSize)),
        // For this start only: system settings take precedence over the user's.
        QWEN_CODE_SYSTEM_SETTINGS_PATH: join(folder, 'settings.json'),
      },
      arguments: ['--auth-type', 'openai', '--model', model],
    }),
    config: jsonConfig(
      (system) => below(system, '.qwen', 'settings.json'),
      (server) => ({
        ...qwenSettings(server),
        env: { OPENAI_BASE_URL: `${server.url}/v1`, OPENAI_API_KEY: server.key },
      }),
    ),
  },
  goose: {
    title: 'Goose',
    program: 'goose',
    install: 'see https://block.github.io/goose/docs/getting-started/installation',
    api: 'Chat completions',
    promptTokens: 8000,
    start: ({ url, model, key, contextSize }) => ({
      environment: {
        GOOSE_PROVIDER: 'openai',
        GOOSE_MODEL: model,
        GOOSE_CONTEXT_LIMIT: String(contextSize),
        OPENAI_HOST: url,
        OPENAI_BASE_PATH: 'v1/chat/completions',
        OPENAI_API_KEY: key,
      },
    }),
  },
  aider: {
    title: 'Aider',
    program: 'aider',
    install: 'python -m pip install aider-install && aider-install',
    api: 'Chat completions',
    promptTokens: 4000,
    files: ({ model, contextSize }) => ({
      'models.json': JSON.stringify({
        [`openai/${model}`]: {
          max_input_tokens: contextSize,
          max_output_tokens: outputTokens(contextSize),
          litellm_provider: 'openai',
          mode: 'chat',
        },
      }),
    }),
    start: ({ url, model, key }, folder) => ({
      environment: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
      arguments: [
        ...['--model', `openai/${model}`, '--weak-model', `openai/${model}`],
        ...['--model-metadata-file', join(folder, 'models.json'), '--no-check-update'],
      ],
    }),
  },
  crush: {
    title: 'Crush',
    program: 'crush',
    install: 'npm install -g @charmland/crush',
    api: 'Chat completions',
    promptTokens: 8000,
    files: (server) => ({ 'crush.json': JSON.stringify(crushSettings(server)) }),
    start: (_, folder) => ({
      environment: {
        CRUSH_GLOBAL_CONFIG: folder,
        CRUSH_DISABLE_METRICS: '1',
        CRUSH_DISABLE_PROVIDER_AUTO_UPDATE: '1',
      },
    }),
    config: jsonConfig((system) => xdgConfig(system, 'crush', 'crush.json'), crushSettings),
  },
};

/** A name that does not begin with `claude-` gets the short system prompt; without a window it would count as 1,000,000 tokens. */
function claudeVariables({ url, model, contextSize, key }: AgentServer) {
  const output = outputTokens(contextSize);
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_SUBAGENT_MODEL: model,
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(compactTokens(contextSize) + output + claudeReserve),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(output),
    // No billing line, which differs between conversations: they share the cached instructions.
    CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
    // No title requests, telemetry and updates.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    API_TIMEOUT_MS: String(timeoutMs),
  };
}

/** The variable from which Codex takes the key of the server. */
const codexKey = 'PARLEY_AGENT_KEY';

function codexSettings({ model, contextSize, webSearch }: AgentServer) {
  return {
    model,
    model_provider: 'parley',
    model_context_window: contextSize,
    model_auto_compact_token_limit: compactTokens(contextSize),
    check_for_update_on_startup: false,
    // With full access it offers a live search by itself.
    web_search: webSearch ? 'live' : 'disabled',
  };
}

function codexProvider({ url }: AgentServer) {
  return {
    name: 'Parley',
    base_url: `${url}/v1`,
    wire_api: 'responses',
    env_key: codexKey,
    stream_idle_timeout_ms: timeoutMs,
  };
}

function opencodeSettings({ url, model, contextSize, key }: AgentServer) {
  const limit = { context: contextSize, output: outputTokens(contextSize) };
  return {
    model: `parley/${model}`,
    small_model: `parley/${model}`,
    autoupdate: false,
    share: 'disabled',
    provider: {
      parley: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Parley',
        options: { baseURL: `${url}/v1`, apiKey: key, timeout: timeoutMs },
        models: { [model]: { name: model, limit } },
      },
    },
  };
}

function qwenSettings({ model, contextSize }: AgentServer) {
  const generationConfig = { contextWindowSize: contextSize, timeout: timeoutMs };
  return {
    security: { auth: { selectedType: 'openai' } },
    model: { name: model, generationConfig },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
  };
}

function crushSettings({ url, model, contextSize, key }: AgentServer) {
  const chosen = { provider: 'parley', model };
  return {
    providers: {
      parley: {
        name: 'Parley',
        type: 'openai-compat',
        base_url: `${url}/v1`,
        api_key: key,
        models: [
          { id: model, name: model, context_window: contextSize, default_max_tokens: outputTokens(contextSize) },
        ],
      },
    },
    models: { large: chosen, small: chosen },
  };
}
