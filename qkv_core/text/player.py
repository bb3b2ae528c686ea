"""The words of the player: what moves a training on, and why it stands still."""

from qkv_core.text import Msg

PLAY = Msg(en="Play", es="Iniciar")
PAUSE = Msg(en="Pause", es="Pausa")
STEP = Msg(en="One step", es="Un paso")
RESET = Msg(en="Start over", es="Empezar de nuevo")
PLAY_HELP = Msg(
    en="Trains until step {goal:,}, then pauses. The key P does the same.",
    es="Entrena hasta el paso {goal:,} y entonces se detiene. La tecla P hace lo mismo.",
)
PAUSE_HELP = Msg(en="Stops after the present slice; nothing is lost.", es="Se detiene enseguida; nada se pierde.")
STEP_HELP = Msg(en="Exactly one update of every run.", es="Exactamente una actualización de cada entrenamiento.")
RESET_HELP = Msg(
    en="Back to step 0 with the settings on screen. The present run is dropped.",
    es="Vuelve al paso 0 con los ajustes en pantalla. El entrenamiento actual se descarta.",
)

TOLD = {
    "done": Msg(en="Paused at step {step:,}. Play goes on from here.", es="En pausa en el paso {step:,}. «Iniciar» sigue desde aquí."),
    "full": Msg(
        en="Step {step:,} is the last that this lab keeps for so many runs. Start over to train again.",
        es="El paso {step:,} es el último que este laboratorio guarda con tantos entrenamientos. Empiece de nuevo para volver a entrenar.",
    ),
    "idle": Msg(
        en="Paused at step {step:,}, since nothing was touched for {minutes:.0f} minutes. Play goes on.",
        es="En pausa en el paso {step:,}, porque no se tocó nada en {minutes:.0f} minutos. «Iniciar» continúa.",
    ),
    "gap": Msg(
        en="The connection was away, so training stopped at step {step:,}. Play goes on.",
        es="Se perdió la conexión y el entrenamiento se detuvo en el paso {step:,}. «Iniciar» continúa.",
    ),
    "away": Msg(
        en="Welcome back: your run waits at step {step:,}. Play goes on.",
        es="Su entrenamiento le espera en el paso {step:,}. «Iniciar» continúa.",
    ),
    "put_away": Msg(
        en="Your run of {step:,} steps was put away, since others needed the memory. Play trains it again from its seed.",
        es="Su entrenamiento de {step:,} pasos se descartó porque otras personas necesitaban la memoria. «Iniciar» lo repite desde su semilla.",
    ),
}
IN_LINE = Msg(
    en="{most} trainings are held on this server, which is all it takes. Your place in line: {place}. It begins by itself.",
    es="Este servidor tiene {most} entrenamientos, todos los que admite. Su lugar en la cola: {place}. Empezará solo.",
)
SHARED = Msg(
    en="{n} people train on this server now; each gets an equal part, and pictures change every {every:.1f} s.",
    es="Ahora entrenan {n} personas en este servidor; cada una recibe una parte igual, y las figuras cambian cada {every:.1f} s.",
)
