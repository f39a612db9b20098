import { type Guess, turns } from './adapter.ts';

/**
 * The formats that are recognised by a model's chat template, most particular first: the first entry whose every
 * search string occurs in the template is taken, so the order is part of the data.
 */
export const guessList: readonly Guess[] = [
  {
    name: 'ChatML (Phi 4)',
    search: ['<|im_start|>assistant', '<|im_end|>', '<|im_sep|>'],
    adapter: turns(
      ['<|im_start|>system<|im_sep|>', '<|im_end|>'],
      ['<|im_start|>user<|im_sep|>', '<|im_end|>'],
      ['<|im_start|>assistant<|im_sep|>', '<|im_end|>'],
    ),
  },
  {
    name: 'ChatML (Qwen 2.5 based)',
    search: ['<|im_start|>assistant', '<|im_end|>', 'You are provided with function signatures within <tools>'],
    adapter: turns(
      ['<|im_start|>system\n', '<|im_end|>\n'],
      ['<|im_start|>user\n', '<|im_end|>\n'],
      ['<|im_start|>assistant\n', '<|im_end|>\n'],
    ),
  },
  {
    name: 'ChatML (Kimi)',
    search: ['<|im_user|>{{role_name}}<|im_middle|>', '<|im_assistant|>{{role_name}}<|im_middle|>', '<|im_end|>'],
    adapter: turns(
      ['<|im_system|>system<|im_middle|>', '<|im_end|>'],
      ['<|im_user|>user<|im_middle|>', '<|im_end|>'],
      ['<|im_assistant|>assistant<|im_middle|>', '<|im_end|>'],
    ),
  },
  {
    name: 'ChatML (Kimi Alternate)',
    search: ['<|im_user|>', '<|im_system|>system<|im_middle|>', '<|im_end|>'],
    adapter: turns(
      ['<|im_system|>system<|im_middle|>', '<|im_end|>'],
      ['<|im_user|>user<|im_middle|>', '<|im_end|>'],
      ['<|im_assistant|>assistant<|im_middle|>', '<|im_end|>'],
    ),
  },
  {
    name: 'Google Gemma 2',
    search: ['System role not supported', '<start_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 3',
    search: ['<start_of_image>', '<start_of_turn>', '<end_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 3n',
    search: ['<image_soft_token>', '<start_of_turn>model', '<end_of_turn>'],
    adapter: turns(
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>user\n', '<end_of_turn>\n'],
      ['<start_of_turn>model\n', '<end_of_turn>\n'],
    ),
  },
  {
    name: 'Google Gemma 4 (26B and 31B)',
    search: ['<|turn>model', '<|think|>', '<|channel>thought\\n<channel|>'],
    adapter: turns(
      ['<|turn>system\n', '<turn|>\n'],
      ['<|turn>user\n', '<turn|>\n'],
      ['<|turn>model\n', '<turn|>\n'],
      '<|turn>model\n<|channel>thought\n<channel|>',
    ),
  },
  {
    name: 'Google Gemma 4 (E2B and E4B)',
    search: ['<|turn>model', '<|think|>'],
    adapter: turns(['<|turn>system\n', '<turn|>\n'], ['<|turn>user\n', '<turn|>\n'], ['<|turn>model\n', '<turn|>\n']),
  },
  {
    name: 'Llama 3.x',
    search: ['<|start_header_id|>assistant<|end_header_id|>'],
    adapter: turns(
      ['<|start_header_id|>system<|end_header_id|>\n\n', '<|eot_id|>'],
      ['<|start_header_id|>user<|end_header_id|>\n\n', '<|eot_id|>'],
      ['<|start_header_id|>assistant<|end_header_id|>\n\n', '<|eot_id|>'],
    ),
  },
  {
    name: 'Llama 4',
    search: ['<|header_start|>assistant<|header_end|>'],
    adapter: turns(
      ['<|header_start|>system<|header_end|>\n\n', '<|eot|>'],
      ['<|header_start|>user<|header_end|>\n\n', '<|eot|>'],
      ['<|header_start|>assistant<|header_end|>\n\n', '<|eot|>'],
    ),
  },
  {
    name: 'Granite 4',
    search: ['<|start_of_role|>system<|end_of_role|>'],
    adapter: turns(
      ['<|start_of_role|>system<|end_of_role|>', '<|end_of_text|>\n'],
      ['<|start_of_role|>user<|end_of_role|>', '<|end_of_text|>\n'],
      ['<|start_of_role|>assistant<|end_of_role|>', '<|end_of_text|>\n'],
    ),
  },
  {
    name: 'Mistral Tekken',
    search: ['[/INST]', '[SYSTEM_PROMPT]'],
    adapter: turns(['[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]'], ['[INST]', ''], ['[/INST]', '</s>']),
  },
  {
    name: 'Mistral Non-Tekken',
    search: ['[/INST]', '"[INST] " + system_message'],
    adapter: turns(['[INST] ', '[/INST]'], ['[INST] ', ''], ['[/INST] ', '</s>'], '[/INST]'),
  },
  {
    name: 'GLM-4.7',
    search: ['[gMASK]<sop>', "content.split('</think>')"],
    adapter: turns(['<|system|>\n', ''], ['<|user|>\n', ''], ['<|assistant|>\n<think>', '']),
  },
  {
    name: 'GLM-4',
    search: ['[gMASK]<sop>'],
    adapter: turns(['<|system|>\n', ''], ['<|user|>\n', ''], ['<|assistant|>\n', '']),
  },
  {
    name: 'Phi 3.5',
    search: ['<|system|>', '<|user|>'],
    adapter: turns(['<|system|>\n', '<|end|>\n'], ['<|user|>\n', '<|end|>\n'], ['<|assistant|>\n', '<|end|>\n']),
  },
  {
    name: 'Phi 4 (mini)',
    search: ["'<|' + message['role'] + '|>'"],
    adapter: turns(['<|system|>', '<|end|>'], ['<|user|>', '<|end|>'], ['<|assistant|>', '<|end|>']),
  },
  {
    name: 'Cohere',
    search: ['<|START_OF_TURN_TOKEN|>'],
    adapter: turns(
      ['<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
      ['<|START_OF_TURN_TOKEN|><|USER_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
      ['<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>', '<|END_OF_TURN_TOKEN|>'],
    ),
  },
  {
    name: 'Spark X2.5',
    search: ['<｜start▁of▁sentence｜>', '<｜end▁of▁sentence｜>', '<|System|>', '<|User|>', '<|Bot|>', '</think>'],
    adapter: turns(
      ['<｜start▁of▁sentence｜><|System|>\n', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|User|>', '<｜end▁of▁sentence｜>'],
      ['<｜start▁of▁sentence｜><|Bot|></think>', '<｜end▁of▁sentence｜>'],
      '<｜start▁of▁sentence｜><|Bot|><think>',
    ),
  },
  {
    name: 'DeepSeek V2.5',
    search: ['<｜User｜>'],
    adapter: turns(['', ''], ['<｜User｜>', ''], ['<｜Assistant｜>', '<｜end▁of▁sentence｜>']),
  },
  {
    name: 'Jamba',
    search: ['<|bom|>', 'is_last_checked_defined'],
    adapter: turns(
      ['<|bom|><|system|> ', '<|eom|>'],
      ['<|bom|><|user|> ', '<|eom|>'],
      ['<|bom|><|assistant|> ', '<|eom|>'],
      '<|bom|><|assistant|>',
    ),
  },
  {
    name: 'Dots',
    search: ['<|userprompt|>', '<|endofuserprompt|>', '<|response|>', '<|endofresponse|>'],
    adapter: turns(
      ['<|system|>', '<|endofsystem|>'],
      ['<|userprompt|>', '<|endofuserprompt|>'],
      ['<|response|>', '<|endofresponse|>'],
    ),
  },
  {
    name: 'OpenAI Harmony',
    search: ['<|start|>user<|message|>', '<|channel|>', '<|end|>'],
    adapter: turns(
      ['<|start|>developer<|message|># Instructions\n\n', '\n\n<|end|>'],
      ['<|start|>user<|message|>', '<|end|>'],
      [
        '<|start|>assistant<|channel|>analysis<|message|>We can answer immediately.<|end|><|start|>assistant<|channel|>final<|message|>',
        '<|end|>',
      ],
    ),
  },
  {
    name: 'Seed OSS',
    search: ['<seed:bos>', '<seed:eos>'],
    adapter: turns(
      ['<seed:bos>system\n', '<seed:eos>'],
      ['<seed:bos>user\n', '<seed:eos>'],
      ['<seed:bos>assistant\n', '<seed:eos>'],
    ),
  },
  {
    name: 'RWKV World',
    search: ['rwkv_', "'User: '"],
    adapter: turns(['', '\n\n'], ['User: ', '\n\n'], ['Assistant: ', '\n\n'], 'Assistant:'),
  },
  {
    name: 'Mistral (Generic)',
    search: ['[/INST]'],
    adapter: turns(['[INST]', '[/INST]'], ['[INST]', ''], ['[/INST]', '</s>']),
  },
  {
    name: 'ChatML (Generic)',
    search: ['<|im_start|>assistant', '<|im_end|>'],
    adapter: turns(
      ['<|im_start|>system\n', '<|im_end|>\n'],
      ['<|im_start|>user\n', '<|im_end|>\n'],
      ['<|im_start|>assistant\n', '<|im_end|>\n'],
    ),
  },
  {
    name: 'Apriel 1.6',
    search: ['[BEGIN FINAL RESPONSE]', '<|begin_user|>'],
    adapter: turns(
      ['<|begin_system|>\n', '\n'],
      ['<|begin_user|>\n', '\n'],
      ['<|begin_assistant|>\n', '\n'],
      '<|begin_assistant|>\nWe can respond now.\n[BEGIN FINAL RESPONSE]\n',
    ),
  },
  {
    name: 'Apertus',
    search: ['<|developer_end|>', '<|assistant_start|>', '<|system_start|>'],
    adapter: turns(
      ['<|system_start|>', '<|system_end|>'],
      ['<|user_start|>', '<|user_end|>'],
      ['<|assistant_start|>', '<|assistant_end|>'],
    ),
  },
  {
    name: 'MiniMax',
    search: ['[e~[', ']~b]user'],
    adapter: turns([']~!b[]~b]system\n', '[e~[\n'], [']~b]user\n', '[e~[\n'], [']~b]ai\n', '[e~[\n']),
  },
  {
    name: 'Muse Glimmer',
    search: ['<|start|>assistant to=', '<|start|>system<|message|>'],
    adapter: turns(
      ['<|start|>system<|message|>', '<|eot|>'],
      ['<|start|>user<|message|>', '<|eot|>'],
      ['<|start|>assistant to=user<|message|>', '<|eot|>'],
    ),
  },
  {
    name: 'Ling 3.0 Flash',
    search: ['<role>SYSTEM</role>', '<|role_end|>'],
    adapter: turns(
      ['<role>SYSTEM</role>', '<|role_end|>'],
      ['<role>HUMAN</role>', '<|role_end|>'],
      ['<role>ASSISTANT</role>', '<|role_end|>'],
    ),
  },
];
