import '@fontsource-variable/inter/wght.css';
import '@fontsource-variable/jetbrains-mono/wght.css';
import '../ui/tokens.css';
import '../ui/base.css';
import { mount } from 'svelte';
import ConversationsPage from './ConversationsPage.svelte';

const target = document.getElementById('app');
if (target) mount(ConversationsPage, { target });
