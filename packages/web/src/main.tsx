import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/layout.css';
import './styles/shell.css';

applyTheme();
const place = document.getElementById('app');
if (!place) throw new Error('The page has no place for the dashboard.');
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
